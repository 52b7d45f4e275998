#!/bin/sh
# The tests that need no database, server or browser, on every other installed Python that we support.
set -eu
PYTHON=${PYTHON:-python3}
supported='import sys; assert sys.version_info >= (3, 11) and sys.version_info.releaselevel == "final"; print(sys.version.split()[0])'
seen=" $("$PYTHON" -c "$supported") "
environments=$(mktemp -d)
trap 'rm -rf "$environments"' EXIT
trap 'exit 1' INT TERM

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
done
echo "Tested on Python:$seen"
