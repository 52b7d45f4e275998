# Memory Bank in an image: the web server, or, with another command, worker, beat and manage.py. It holds no secret.
FROM python:3.12-slim AS packages
COPY requirements.txt .
RUN python -m venv /venv \
    && /venv/bin/pip install --quiet --no-cache-dir --disable-pip-version-check --require-hashes -r requirements.txt

FROM python:3.12-slim
ENV PATH=/venv/bin:$PATH PYTHONUNBUFFERED=1 DATA_DIR=/data XDG_CACHE_HOME=/cache
RUN useradd --system --uid 10001 --no-create-home --shell /usr/sbin/nologin memorybank \
    && install --directory --owner memorybank --mode 700 /data /cache
WORKDIR /app
COPY --from=packages /venv /venv
COPY . .
# The key is for this one command; a server without one of its own does not start.
RUN SECRET_KEY=of-no-use python manage.py collectstatic --no-input --verbosity 0
USER memorybank
# The rules for secrets, compiled once here rather than by each worker that starts.
RUN python -m memorybank.safety.redaction
EXPOSE 8000
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s CMD ["python", "deploy/healthy.py"]
CMD ["uvicorn", "config.asgi:application", "--host", "0.0.0.0", "--port", "8000", "--timeout-graceful-shutdown", "30", "--no-access-log"]
