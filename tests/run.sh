#!/bin/sh
# Lint, then the suite on SQLite, then all of it that asks a database on PostgreSQL if there is one (in CI there must be).
set -eu
PYTHON=${PYTHON:-python3}
bin=$(dirname "$PYTHON")
"$bin/ruff" check .
"$bin/ruff" format --check .
"$bin/lint-imports"
# Types are checked beside the tests: mypy uses one processor only, for half a minute the first time.
types=$(mktemp)
trap 'rm -f "$types"' EXIT
"$bin/mypy" >"$types" 2>&1 &
checked=$!

echo "== SQLite"
failed=
"$PYTHON" -m pytest -q -n 2 --dist worksteal "$@" || failed=yes
wait $checked || failed=yes
cat "$types"
[ -z "$failed" ] || exit 1

postgres=${TEST_DATABASE_URL:-postgres://postgres@127.0.0.1:5432/postgres}
if "$PYTHON" -c "import psycopg, sys; psycopg.connect(sys.argv[1], connect_timeout=120)" "$postgres" 2>/dev/null; then
    echo "== PostgreSQL"
    DATABASE_URL=$postgres "$PYTHON" -m pytest -q -n 2 --dist worksteal -m "database and not any_database" "$@"
elif [ "${CI:-}" = true ]; then
    echo "FAILED: no PostgreSQL at $postgres, and in CI there must be one." && exit 1
else
    echo "!! SKIPPED: no PostgreSQL at $postgres. The suite ran on SQLite only; set TEST_DATABASE_URL to run both."
fi
