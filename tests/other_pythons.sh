#!/bin/sh
# The tests that need no database, server or browser, on every other installed Python that we support.
# On one of them the site also migrates and records a turn with Django 6, which Python 3.11 cannot run.
set -eu
PYTHON=${PYTHON:-python3}
supported='import sys; assert sys.version_info >= (3, 11) and sys.version_info.releaselevel == "final"; print(sys.version.split()[0])'
seen=" $("$PYTHON" -c "$supported") "
environments=$(mktemp -d)
trap 'rm -rf "$environments"' EXIT
trap 'exit 1' INT TERM

# In the environment of $1, whose Django it replaces.
with_django_6() {
    "$1" -m pip install --quiet --disable-pip-version-check "Django>=6,<6.2"
    echo "== Django $("$1" -m django --version)"
    export DATA_DIR="$(mktemp -d "$environments/data.XXXXXX")"
    "$1" -W error -W "ignore:The EMAIL_:PendingDeprecationWarning" manage.py check
    "$1" manage.py migrate --verbosity 0
    "$1" manage.py shell --verbosity 0 -c '
from memorybank import services
bank = services.create_bank()
services.enable(bank, actor="ann", disclosure_accepted=True)
turn = services.record(bank, chat_key="c", author="ann", question="We chose PostgreSQL 16.", answer="Noted.")
assert services.outputs_of(bank).get() == turn and services.prompt_memory(bank, question="Which database?").is_on
'
}

django_6=

for python in /usr/bin/python3* /usr/local/bin/python3* "${PYENV_ROOT:-$HOME/.pyenv}"/versions/*/bin/python3; do
    version=$("$python" -c "$supported" 2>/dev/null) || continue
    case $seen in *" $version "*) continue ;; esac
    seen="$seen$version "
    echo "== Python $version ($python)"
    "$python" -m venv "$environments/$version"
    "$environments/$version/bin/python" -m pip install --quiet --disable-pip-version-check --require-hashes \
        -r requirements.txt -r requirements-dev.txt
    "$environments/$version/bin/python" -m pytest -q -n 2 --dist worksteal \
        -m "not database and not own_servers and not long" "$@"
    if [ -z "$django_6" ] && "$python" -c 'import sys; sys.exit(sys.version_info < (3, 12))'; then
        django_6=$version
        (with_django_6 "$environments/$version/bin/python")
    fi
done
echo "Tested on Python:$seen, with Django 6: ${django_6:-on none, which takes Python 3.12}"
