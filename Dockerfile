# Memory Bank image: runs the web server, or with another command worker, beat or manage.py. It contains no secrets.
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
# This key is used only by this command; a server without SECRET_KEY does not start.
RUN SECRET_KEY=of-no-use python manage.py collectstatic --no-input --verbosity 0
USER memorybank
# Compile the rules for secrets once here, so that workers do not compile them at each start.
RUN python -m memorybank.safety.redaction
EXPOSE 8000
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s CMD ["python", "deploy/healthy.py"]
CMD ["uvicorn", "config.asgi:application", "--host", "0.0.0.0", "--port", "8000", "--timeout-graceful-shutdown", "30", "--no-access-log"]
