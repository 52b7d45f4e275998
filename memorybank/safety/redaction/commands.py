"""Passwords where programs want them: in addresses, and behind the flags of commands."""

import re
from collections.abc import Iterator

from memorybank.safety.redaction.spans import Span

# The last @ before a host ends it: people put "@", "/" and ":" into passwords, too.
_IN_ADDRESS = re.compile(
    r"[a-z][a-z0-9+.-]{1,20}://[^\s:/@?#\[\]]{0,128}:(?!\d{1,5}(?:[/?#]|$))(?P<value>[^\s\[\]\"'<>\ue000]{1,256})@(?=\[?\w)", re.I
)
_VALUE = r"[\"']?(?P<value>[^\s\"'<>\[\]$|;\ue000-][^\s\"'<>\[\]|;\ue000]{2,128})"
# Up to the flag only what belongs to the same command.
_REST = r"\b[^\n|;]{0,200}?\s"
_FLAGS = tuple(
    re.compile(pattern)
    for pattern in (
        rf"\b(?:mysql|mysqldump|mysqladmin|mysqlimport|mariadb|mariadb-dump|mycli|7z|7za|rar|unrar){_REST}-p{_VALUE}",
        rf"\b(?:sshpass|mongo|mongosh|mongodump|mongorestore|docker login|podman login|helm registry login|az login|oc login|nmcli){_REST}-p\s{{1,4}}{_VALUE}",
        rf"\b(?:redis-cli|valkey-cli){_REST}-a\s{{1,4}}{_VALUE}",
        rf"\b(?:unzip|zip|pdftk|sqlcmd|bcp|smbget){_REST}-P\s{{0,4}}{_VALUE}",
        rf"\b(?:ldapsearch|ldapmodify|ldapadd|ldapwhoami){_REST}-w\s{{1,4}}{_VALUE}",
        rf"\b(?:curl|wget|http|https|xh|smbclient|rpcclient|hydra|lftp){_REST}(?:-u|-a|-U|--user|--auth|--proxy-user)[ =]\s{{0,3}}[\"']?[^\s:%\"',]{{1,64}}[:%,](?P<value>[^\s\"'<>\[\]|;\ue000]{{3,128}})",
        rf"\b(?:htpasswd|rabbitmqctl (?:add_user|change_password)){_REST}(?:-\w+\s+)*(?:[\w./-]+\s+)?[\w.@-]+\s+{_VALUE}\s*$",
    )
)


def found(text: str) -> Iterator[Span]:
    """Every password in an address or a command."""
    if "://" in text:
        yield from (Span(*match.span("value"), "password") for match in _IN_ADDRESS.finditer(text))
    if " -" in text:
        for pattern in _FLAGS:
            yield from (Span(*match.span("value"), "password") for match in pattern.finditer(text))
