"""Counting tokens: exact, offline, and special-token text is plain text."""

import hashlib
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memorybank.language import tokens

TABLES = {
    "fb374d419588a4632f3f557e76b4b70aebbca790": "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
    "9b5ad71b2ce5302211f9c61530b329a4922fc6a4": "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
}
OFFLINE = """
import socket
def refuse(*a, **k): raise AssertionError("the network was used")
socket.socket.connect = socket.create_connection = socket.getaddrinfo = refuse
from memorybank.language import tokens
print([tokens.count("Postgres 16 for billing", name) for name in tokens.ENCODINGS])
"""


@pytest.mark.parametrize("name", TABLES)
def test_it_ships_the_tables_unchanged(name: str) -> None:
    assert hashlib.sha256((tokens.TABLES_FOLDER / name).read_bytes()).hexdigest() == TABLES[name]


def test_it_counts_without_a_network() -> None:
    done = subprocess.run([sys.executable, "-c", OFFLINE], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[6, 6]"


@pytest.mark.parametrize("special", ["<|endoftext|>", "<|im_start|>", "<|fim_prefix|>", "<|endofprompt|>"])
@pytest.mark.parametrize("name", tokens.ENCODINGS)
def test_it_reads_special_tokens_as_plain_text(special: str, name: str) -> None:
    assert tokens.count(special, name) > 1
    assert tokens.encoding(name).decode(tokens.encode(special, name)) == special


@pytest.mark.parametrize("character", ["a", " ", "\n", "!", "好", "\u200d", "🎉"])
def test_it_survives_ten_million_characters_without_a_break(character: str) -> None:
    size = 10_000_000 if character == "a" else 300_000
    assert 0 < tokens.count(character * size) <= size * 4


def test_it_counts_lone_surrogates() -> None:
    assert tokens.count("a\ud800b") > 0


@pytest.mark.parametrize("name", tokens.ENCODINGS)
@settings(max_examples=settings.default.max_examples // 8)
@given(words=st.lists(st.text(min_size=1, max_size=30), min_size=1, max_size=20))
def test_it_counts_long_texts_exactly_though_in_slices(name: str, words: list[str]) -> None:
    text = f" we said {' '.join(words)}" * (250_000 // len(" ".join(words)) // 2)
    assert tokens.encode(text, name) == tokens.encoding(name).encode(text, disallowed_special=())
