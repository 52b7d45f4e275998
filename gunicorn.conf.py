"""How `gunicorn config.wsgi` serves, if begun in this folder: by threads, because answers wait for a model."""

import os

workers = int(os.environ.get("WEB_CONCURRENCY", "2"))
# Each waits for one answer at a time. With threads the time-out below is for workers that hang, not for slow answers.
threads = 16
timeout = 60
# Told to end, a worker may finish the answers it waits for: LLM_TIMEOUT × (LLM_MAX_RETRIES + 1), and some seconds.
graceful_timeout = 150
# What is wrong with the settings is one line of the server, not a worker that is started again and again.
preload_app = True
