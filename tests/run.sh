#!/bin/sh
# The suite on SQLite, then all of it that asks a database on PostgreSQL if there is one (in CI there must be).
# Style, types and imports are `make lint`, which CI runs, too: mypy takes a processor for half a minute at first.
set -eu
PYTHON=${PYTHON:-python3}

echo "== SQLite"
"$PYTHON" -m pytest -q -n 2 --dist worksteal "$@"

postgres=${TEST_DATABASE_URL:-postgres://postgres@127.0.0.1:5432/postgres}
if "$PYTHON" -c "import psycopg, sys; psycopg.connect(sys.argv[1], connect_timeout=120)" "$postgres" 2>/dev/null; then
    echo "== PostgreSQL"
    DATABASE_URL=$postgres "$PYTHON" -m pytest -q -n 2 --dist worksteal -m "database and not any_database" "$@"
elif [ "${CI:-}" = true ]; then
    echo "FAILED: no PostgreSQL at $postgres, and in CI there must be one." && exit 1
else
    echo "!! SKIPPED: no PostgreSQL at $postgres. The suite ran on SQLite only; set TEST_DATABASE_URL to run both."
fi
