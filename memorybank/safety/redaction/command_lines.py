"""Find passwords in URLs, after the flags of commands, and among the arguments of calls."""

import re
from collections.abc import Iterable, Iterator

from memorybank.language import alternation, collect_for_masking, literals
from memorybank.language.prefilter import Patterns
from memorybank.safety.redaction.shapes import shape
from memorybank.safety.redaction.spans import SecretSpan

# A value that is put in later: "${DB_PASSWORD}", "{{ password }}", "%(password)s".
_INTERPOLATED = (
    r"(?:\$\{[^}\s]{1,80}\}|\$\([^)\s]{1,80}\)|(?-i:\$[A-Z_][A-Z0-9_]{0,60})"
    r"|\{{1,2} ?[\w.-]{1,60} ?\}{1,2}|%\(\w{1,60}\)s)"
)
# The last @ before a host ends the password: people put "@", "/" and ":" into passwords, too.
_IN_ADDRESS = re.compile(
    rf"[a-z][a-z0-9+.-]{{1,20}}://[^\s:/@?#\[\]]{{0,128}}:(?!\d{{1,5}}(?:[/?#]|$)|{_INTERPOLATED}@)"
    r"(?P<value>[^\s\[\]\"'<>\ue000]{1,256})@(?=\[?\w)",
    re.I,
)
# Oracle's form: "jdbc:oracle:thin:user/password@//host".
_BY_SLASH = re.compile(r"(?<=:)[\w.-]{1,40}/(?P<value>[^\s/@]{3,64})@(?://)?(?=\w)")
# Parameters of URLs, and common names of administrators.
_KEYS, _KEY_PARTS = (
    alternation(collect_for_masking(of)) for of in (lambda pack: pack.secrets.keys, lambda pack: pack.secrets.key_words)
)
_PASSWORDS = literals(collect_for_masking(lambda pack: pack.secrets.passwords))
_QUERY = re.compile(
    rf"[?&][\w-]{{0,16}}(?:{_KEY_PARTS}|{_KEYS}|{_PASSWORDS})=?(?<==)"
    r"(?=[^&\s]{0,128}\d)(?P<value>[\w.~%+/=-]{8,512})",
    re.I,
)
_COMMON_ACCOUNTS = (
    r"(?:root|admin\w{0,12}|user\w{0,4}|guest|test\w{0,4}"
    r"|postgres|mysql|oracle|sa|ubuntu|pi|demo|svc[\w-]{0,20}|deploy\w{0,4})"
)
_BY_NAME = re.compile(
    rf"(?<![\w/.:@-]){_COMMON_ACCOUNTS}[:/](?!\d)(?=[^\s:/@]{{0,64}}[\d!#$%&*+?~=])"
    r"(?P<value>[^\s:/@,;()\"']{5,64})(?![\w:/@])",
    re.I,
)
_UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_IN_HEX = re.compile(
    rf"(?:{_KEYS})[\"']?\s?(?:[:=]|\w{{2,4}}\s)?\s?[\"'`]?"
    rf"(?P<value>{_UUID}|(?:0x)?[0-9a-f]{{32,64}})(?!\w)",
    re.I,
)
_NAMED_HEX = re.compile(
    rf"(?:{_KEYS})(?: (?!hash|id|digest|check|finger|commit)[\w'’-]{{1,16}}){{1,6}}\s?[:=]\s?[\"'`]?"
    r"(?P<value>(?![0-9a-f]{40}(?!\w))[0-9a-f]{32,64})(?!\w)",
    re.I,
)
_SQL = re.compile(
    r"\b(?:identified\s{1,4}(?:with\s{1,4}\S{1,40}\s{1,4})?(?:by|as)"
    r"|(?-i:[A-Z]{5,6} [A-Z]{4,5}\s[^\n;]{1,80}?PASSWORD)\s?=?)"
    r"\s{0,4}(?:values\s{1,4})?N?(?P<quote>['\"])(?P<value>[^'\"\n]{3,128})(?P=quote)",
    re.I,
)
# A line of a file of passwords: "host:port:database:account:password".
_COLONS = re.compile(
    r"(?<![\w.:/-])[\w.*-]{1,80}:(?:\d{4,5}|\*):[\w*-]{1,60}:[\w*@.-]{1,60}:(?=[^\s:]{0,64}[\d!#$%&*+?~=-])(?P<value>[^\s:]{6,128})"
)
# An address without its scheme: "shop:…@tcp(db:3306)", "account:…@proxy.example:8080".
_BEFORE_HOST = re.compile(
    r"(?<![\w/:.@-])[\w.-]{1,64}:(?=[^\s:/@]{0,64}[\d!#$%&*+?~=-])(?P<value>[^\s:/@\"'<>]{4,128})"
    r"@(?:(?:tcp|unix)\(|[\w.-]{1,80}:\d{2,5}(?!\d))"
)
_OPEN = (_IN_ADDRESS, _QUERY, _BY_NAME, _IN_HEX, _NAMED_HEX, _SQL, _COLONS, _BEFORE_HOST)
# A call's arguments, in quotes: "define('DB_PASSWORD', '…')" names its value, "auth=('account', '…')" has an account
# before it, "ConvertTo-SecureString '…'" says what it makes.
_QUOTED_VALUE = r"(?P<quote>[\"'])(?P<value>(?:(?!(?P=quote))[^\s]){5,128})(?P=quote)"
_CALLS = tuple(
    re.compile(pattern, re.I)
    for pattern in (
        rf"[\"'][\w.-]{{0,60}}(?:{_PASSWORDS}|pass|{_KEYS})[\"']\s?(?:,|=>)\s{{0,4}}{_QUOTED_VALUE}(?=\s?[,)])",
        rf"\w{{0,24}}(?:auth|login|connect|mysqli|pdo|pscredential|networkcredential|ldapbind)\s?=?\s?\(\s?"
        rf"(?:[\"'][^\s\"']{{1,80}}[\"'],\s?)?[\"'][^\s\"',:/]{{1,64}}[\"'],\s?{_QUOTED_VALUE}\s?[,)]",
        rf"secure-?string(?: -\w{{1,20}}){{0,4}} {_QUOTED_VALUE}",
        rf"{_QUOTED_VALUE}\s?\|\s?\w{{1,20}}-securestring",
    )
)
# "Client('AC12…', '4c1b…')": an account and 32 to 64 hexadecimal digits.
_CLIENT = re.compile(
    r"\w{0,24}client\s?\(\s?[\"'][^\s\"']{1,80}[\"'],\s?[\"'](?P<value>[0-9a-f]{32,64})[\"']\s?[,)]", re.I
)
# Keys of translations and names of fields: "auth.failed", "csrf_field".
_FIELD_NAME = re.compile(r"[a-z]+(?:[._-][a-z]+)+\d{0,2}")
# The argument after the account of a program whose name says what it sets: "htpasswd -bc FILE ACCOUNT PASSWORD".
_SETTER = re.compile(
    r"(?<![\w.-])[\w.-]{0,20}(?:passwd|pass|adduser|useradd)(?= -\w)(?P<rest>(?: [^\s|;&<>,]{1,128}){2,8})"
)
_ARGUMENT = re.compile(r"(?<= )(?<!-\w )(?<!-\w\w )(?![-/])[^\s\"']{5,127}[^\s\"'.:]")
_VALUE = r"[\"']?(?P<value>[^\s\"'<>\[\]$|;\ue000-][^\s\"'<>\[\]|;\ue000]{2,128})"
# The text before the flag must belong to the same command.
_COMMAND_REST = r"\b[^\n|;]{0,200}?\s"
_FLAGS = tuple(
    re.compile(pattern)
    for pattern in (
        rf"\b(?:mysql|mysqldump|mysqladmin|mysqlimport|mariadb|mariadb-dump|mycli|7z|7za|rar|unrar){_COMMAND_REST}-p{_VALUE}",
        r"\b(?:sshpass|mongo|mongosh|mongodump|mongorestore|(?:docker|podman|helm registry|az|oc) login|nmcli)"
        rf"{_COMMAND_REST}-p\s{{1,4}}{_VALUE}",
        rf"\b(?:redis-cli|valkey-cli){_COMMAND_REST}-a\s{{1,4}}{_VALUE}",
        rf"\b(?:unzip|zip|pdftk|sqlcmd|bcp|smbget|ipmitool|mosquitto_pub|mosquitto_sub){_COMMAND_REST}-[A-Za-z]{{0,6}}P\s{{0,4}}{_VALUE}",
        rf"\b(?:ldapsearch|ldapmodify|ldapadd|ldapwhoami){_COMMAND_REST}-w\s{{1,4}}{_VALUE}",
        rf"\b(?:curl|wget|https?|xh|smbclient|hydra|lftp){_COMMAND_REST}(?:-[A-Za-z]{{0,6}}[uaU]|--(?:proxy-)?user|--auth)"
        r"[ =]\s{0,3}"
        r"[\"']?[^\s:%\"',]{1,64}[:%,](?P<value>[^\s\"'<>\[\]|;\ue000]{3,128})",
        r"\bsmbclient\s{1,4}[\"']?(?://|\\{2,4})[^\s\"']{1,128}[\"']?\s{1,4}"
        + _VALUE.replace("(?P<value>", "(?P<value>(?!-)"),
        *(rf"\bsnmp\w{{1,12}}{_COMMAND_REST}-{flag}\s{{1,4}}{_VALUE}" for flag in "AX"),
        rf"\bsnmp\w{{1,12}}{_COMMAND_REST}-c\s{{1,4}}(?!(?:public|private)\b){_VALUE}",
        r"(?i:\bnet use)(?: (?:\w:|\*))?\s{1,4}\\\\[^\s]{1,128}(?:\s{1,4}/[a-z]\S{1,80}){0,3}\s{1,4}"
        + _VALUE.replace("(?P<value>", "(?P<value>(?![/*])"),
        rf"\b(?:plink|pscp|psftp|putty){_COMMAND_REST}-pw\s{{1,4}}{_VALUE}",
        rf"\b(?:psexec|rdesktop|winexe){_COMMAND_REST}-p\s{{1,4}}{_VALUE}",
        rf"\bx?freerdp{_COMMAND_REST}/p:{_VALUE}",
        rf"\bkeytool{_COMMAND_REST}-(?:store|key|src|dest)\w{{0,9}}pass\s{{1,4}}{_VALUE}",
        rf"\b(?:useradd|usermod){_COMMAND_REST}-p\s{{1,4}}{_VALUE}",
        rf"\becho (?:-n )?{_VALUE}[\"']?\s?\|\s?sudo -S",
        r"\bsqlplus (?:-\w )?[\w.-]{1,64}/(?P<value>[^\s/@\"']{3,128})(?=@|\s|$)",
        rf"\bopenssl{_COMMAND_REST}-k\s{{1,4}}{_VALUE}",
        rf"\b(?:kinit|passwd|cryptsetup|gpg|sudo|su)\b[^\n|;]{{0,80}}<<<\s{{0,2}}{_VALUE}",
        rf"\brabbitmqctl (?:add_user|change_password)\s{{1,4}}[\w.@-]{{1,64}}\s{{1,4}}{_VALUE}",
    )
)

_PATTERNS = Patterns((pattern, None) for pattern in (*_OPEN, *_CALLS, _CLIENT, _SETTER, *_FLAGS))


def find(text: str) -> Iterator[SecretSpan]:
    matches = _PATTERNS.finder(text)
    for pattern in _OPEN:
        yield from (SecretSpan(*match.span("value"), "password") for match in matches(pattern))
    if "'" in text or '"' in text:
        yield from _calls(match for pattern in _CALLS for match in matches(pattern))
        yield from (SecretSpan(*match.span("value"), "secret") for match in matches(_CLIENT))
    if "jdbc:" in text:
        yield from (SecretSpan(*match.span("value"), "password") for match in _BY_SLASH.finditer(text))
    if " -" in text or "<<<" in text or "/" in text:
        yield from _arguments(matches(_SETTER))
        for pattern in _FLAGS:
            yield from (SecretSpan(*match.span("value"), "password") for match in matches(pattern))


def _calls(matches: Iterable[re.Match[str]]) -> Iterator[SecretSpan]:
    """The passwords among the quoted arguments of calls."""
    for match in matches:
        if shape(match["value"]) and not _FIELD_NAME.fullmatch(match["value"]):
            yield SecretSpan(*match.span("value"), "password")


def _arguments(matches: Iterable[re.Match[str]]) -> Iterator[SecretSpan]:
    """The passwords among the arguments of programs that set them."""
    for match in matches:
        for value in _ARGUMENT.finditer(match.string, *match.span("rest")):
            if shape(value[0]):
                yield SecretSpan(*value.span(), "password")
