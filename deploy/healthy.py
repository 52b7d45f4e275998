"""Container health check: exit code 0 if the web server answers on port 8000 or the given port, otherwise 1."""

import os
import sys
import urllib.request


def host() -> str:
    """A host name the site answers to: the first entry of ALLOWED_HOSTS that is not a pattern."""
    hosts = os.environ.get("ALLOWED_HOSTS", "").split(",")
    return next((name for name in hosts if name and name[0] not in "*."), "localhost")


port = sys.argv[1] if len(sys.argv) > 1 else "8000"
try:
    request = urllib.request.Request(f"http://127.0.0.1:{port}/healthz", headers={"Host": host()})
    urllib.request.urlopen(request, timeout=4).close()
except OSError as error:
    sys.exit(f"{error}")
