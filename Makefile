# Two commands set everything up: make demo, make test. The rest is convenience.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PORT ?= 8000
LOG ?= projects/importing/sample/chats.jsonl

.DEFAULT_GOAL := help
.PHONY: help demo test test-pythons test-llm test-clients lint docs run bench bench-quality

help: ## show this help
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

$(VENV)/runtime: requirements.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.txt
	@$(BIN)/python -m memorybank.safety.redaction  # so that no first chat waits for the rules to be compiled
	@touch $@

$(VENV)/dev: requirements-dev.txt $(VENV)/runtime
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-dev.txt
	@touch $@

demo: $(VENV)/runtime ## set up, replay the sample, serve on 127.0.0.1:8000 (another port: make demo PORT=8080)
	$(BIN)/python manage.py demo --address 127.0.0.1:$(PORT)

test: $(VENV)/dev ## run the test suite, on SQLite and on PostgreSQL if there is one
	PYTHON=$(BIN)/python sh tests/run.sh

test-pythons: $(VENV)/dev ## run the tests that need no database on every other installed Python from 3.11
	PYTHON=$(BIN)/python sh tests/other_pythons.sh

# Of its own: llama.cpp is compiled for it, which takes a compiler and minutes, and nothing else needs it.
$(VENV)-llm/ready: requirements-llm.txt
	$(PYTHON) -m venv $(VENV)-llm
	$(VENV)-llm/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-llm.txt
	@touch $@

test-llm: $(VENV)/dev $(VENV)-llm/ready ## opt-in: chat with a real small model, on pages and through the gateway
	TEST_SMALL_MODEL=$(VENV)-llm/bin/python $(BIN)/python -m pytest -q tests/system/test_small_model.py

# Each client has an environment of its own, in a directory that is deleted afterwards.
test-clients: $(VENV)/dev ## opt-in: run real clients through the gateway, and compare what is recorded
	place=$$(mktemp -d) && trap 'rm -rf "$$place"' EXIT && $(BIN)/python -m tests.clients.install "$$place" && \
	TEST_CLIENTS="$$place" $(BIN)/python -m pytest -q -n0 -rs tests/clients

lint: $(VENV)/dev ## style, types and import contracts
	$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy && $(BIN)/lint-imports

docs: $(VENV)/dev ## generate the picture, the privacy table and the catalogues of translations
	$(BIN)/python -m docs.picture
	$(BIN)/python -m docs.privacy_table
	$(BIN)/python -m docs.translations

run: $(VENV)/runtime ## serve the site as in production: web server, worker and beat
	$(BIN)/python manage.py migrate --verbosity 0
	$(BIN)/python manage.py collectstatic --no-input --verbosity 0
	$(BIN)/python manage.py serve

bench: $(VENV)/dev ## run the benchmarks; they print ratios
	$(BIN)/python -m benchmarks

bench-quality: $(VENV)/dev ## LOG=… QA=…: what memory retains, at five budgets
	$(BIN)/python -m benchmarks.quality --log $(LOG) --qa $(QA)
