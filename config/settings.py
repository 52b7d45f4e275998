"""Settings, read from the environment (or ``.env``). The defaults need no other services."""

import os
from pathlib import Path
from typing import Any
from warnings import catch_warnings

import environ
from django.core.exceptions import ImproperlyConfigured

from config import logs
from config.data_directory import load_or_create_key, make_writable, restrict_access
from memorybank import conf
from projects.web.providers import PROVIDERS

BASE_DIR = Path(__file__).resolve().parent.parent
env = environ.Env()
environ.Env.read_env(BASE_DIR / ".env")


def _number(name: str, default: float) -> Any:
    """A variable as a number of the type of ``default``. Raises :class:`ImproperlyConfigured` if it is invalid."""
    text = env.str(name, default="")
    try:
        return type(default)(text or default)
    except ValueError as error:
        kind = "whole number" if isinstance(default, int) else "number"
        raise ImproperlyConfigured(f"{name}: “{text[:40]}” is not a {kind}.") from error


os.umask(0o077)  # files written by this site are readable by its user only
DEMO = env.bool("DEMO", default=False)  # manage.py sets it for the command demo
DEBUG = env.bool("DEBUG", default=DEMO)
ALLOWED_HOSTS = env.list("ALLOWED_HOSTS", default=["127.0.0.1", "localhost", "[::1]"])
CSRF_TRUSTED_ORIGINS = env.list("CSRF_TRUSTED_ORIGINS", default=[])

INSTALLED_APPS = [
    "projects",
    "memorybank",
    "config.apps.Admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.humanize",
]
MIDDLEWARE = [
    "config.middleware.gateway.gateway_shortcut",
    "config.middleware.request_ids.request_id_middleware",
    "django.middleware.security.SecurityMiddleware",
    "config.middleware.static_files.StaticFiles",
    "config.middleware.compression.Compression",
    "config.middleware.security_headers.security_headers_middleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "config.middleware.language.PageLanguageMiddleware",
    "config.middleware.time_zone.time_zone_middleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]
ROOT_URLCONF = "config.urls"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]

# --- data -----------------------------------------------------------------------------------------

DATA_DIR = Path(env.str("DATA_DIR", default=str(BASE_DIR / "data")))


restrict_access(DATA_DIR, 0o700)
SECRET_KEY = env.str("SECRET_KEY", default="")
if not SECRET_KEY and "DEBUG" in os.environ and not DEBUG:
    raise ImproperlyConfigured("Set SECRET_KEY: with DEBUG off there is no default.")
SECRET_KEY = SECRET_KEY or load_or_create_key(DATA_DIR)
SECRET_KEY_FALLBACKS = env.list("SECRET_KEY_FALLBACKS", default=[])


with catch_warnings(action="ignore"):  # its warning about an invalid address would print the password
    DATABASES = {"default": env.db_url("DATABASE_URL", default=f"sqlite:///{DATA_DIR / 'memorybank.sqlite3'}")}
if not DATABASES["default"].get("ENGINE"):
    raise ImproperlyConfigured("DATABASE_URL is not an address such as postgres://user:password@host:5432/name.")
if DATABASES["default"]["ENGINE"] == "django.db.backends.sqlite3":
    for ending in ("", "-wal", "-shm"):  # an older version may have created them with another mode
        restrict_access(Path(f"{DATABASES['default']['NAME']}{ending}"), 0o600)
    # WAL alone gave thousands of lock errors with eight writers; all of these together gave none. The default
    # cache of 2 MB has no room for two long messages, whose pages are then written more than once.
    DATABASES["default"].setdefault("OPTIONS", {}).update(
        transaction_mode="IMMEDIATE",
        timeout=20,
        init_command="PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA foreign_keys=ON;"
        " PRAGMA cache_size=-8000;",
    )
else:
    # Without a pool, a connection is closed when its thread ends, which is at the end of the request.
    DATABASES["default"]["CONN_HEALTH_CHECKS"] = True
    # Limit how long a thread waits for a database server that does not answer: in seconds, and in milliseconds.
    DATABASES["default"].setdefault("OPTIONS", {}).update(connect_timeout=10, tcp_user_timeout=30_000)
    if pooled := _number("DATABASE_POOL", 0):
        DATABASES["default"].setdefault("OPTIONS", {})["pool"] = {"min_size": 1, "max_size": pooled}
# The PostgreSQL role for row-level security: see docs/operating.md.
ROW_SECURITY_ROLE = env.str("ROW_SECURITY_ROLE", default="")
if ROW_SECURITY_ROLE:  # a server-side cursor would outlive the statement that sets the visible rows
    DATABASES["default"]["DISABLE_SERVER_SIDE_CURSORS"] = True
if env.str("TEST_DB_NAME", default=""):  # so that several test runs can share one server
    DATABASES["default"]["TEST"] = {"NAME": env.str("TEST_DB_NAME")}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# --- people ---------------------------------------------------------------------------------------

AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in ("UserAttributeSimilarityValidator", "MinimumLengthValidator", "CommonPasswordValidator")
]
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "home"
LOGOUT_REDIRECT_URL = "login"
# Behind an HTTPS server: secure cookies, redirects from HTTP, and HSTS.
HTTPS = env.bool("HTTPS", default=False)
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = LANGUAGE_COOKIE_SECURE = SECURE_SSL_REDIRECT = HTTPS
SECURE_HSTS_SECONDS = 31_536_000 if HTTPS else 0
SECURE_REDIRECT_EXEMPT = [r"^(healthz|readyz|metrics)$"]  # monitoring uses HTTP inside the network
# HSTS for subdomains and preload are the domain owner's decision.
SILENCED_SYSTEM_CHECKS = ["security.W005", "security.W021"]

# Without a mail server, invitations are printed to the console.
globals().update(env.email_url("EMAIL_URL", default="consolemail://"))
DEFAULT_FROM_EMAIL = env.str("FROM_EMAIL", default="memory-bank@localhost")
# Addresses that get an e-mail when the chat model fails.
ADMINS = [("operator", address) for address in env.list("OPERATOR_EMAIL", default=[])]
SERVER_EMAIL, EMAIL_SUBJECT_PREFIX = DEFAULT_FROM_EMAIL, "[Memory Bank] "
EMAIL_TIMEOUT = 10  # seconds that a user who sends an invitation waits at most

# Limits for each API key; 0: no limit. The last two are counted separately in each process.
API_REQUESTS_PER_MINUTE = _number("API_REQUESTS_PER_MINUTE", 600)
API_REQUESTS_AT_ONCE = _number("API_REQUESTS_AT_ONCE", 256)
API_MEGABYTES_PER_MINUTE = _number("API_MEGABYTES_PER_MINUTE", 200)
# The largest file that the import page accepts.
IMPORT_MEGABYTES = _number("IMPORT_MEGABYTES", 100)
# Origins whose pages may call the API, the gateway and MCP, such as https://app.example.com.
API_CORS_ORIGINS = env.list("API_CORS_ORIGINS", default=[])

# Pages use the language that the reader chose, otherwise the browser's, otherwise English.
LANGUAGE_CODE = "en-gb"
LANGUAGES = [("en-gb", "English"), ("de", "Deutsch")]
FORMAT_MODULE_PATH = ["config.formats"]
LANGUAGE_COOKIE_AGE = 31_536_000
LANGUAGE_COOKIE_HTTPONLY = True
LANGUAGE_COOKIE_SAMESITE = "Lax"
TIME_ZONE = "UTC"
USE_TZ = True
STATIC_URL = "static/"
STATIC_ROOT = Path(env.str("STATIC_ROOT", default=str(BASE_DIR / "static")))
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedStaticFilesStorage"},
}
FILE_UPLOAD_DIRECTORY_PERMISSIONS = 0o755  # static files are public

# --- work in the background -------------------------------------------------------------------------

CELERY_BROKER_URL = env.str("CELERY_BROKER_URL", default="filesystem://")
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_TRANSPORT_OPTIONS: dict[str, Any] = {}
if CELERY_BROKER_URL.startswith("filesystem:"):
    for folder in ("broker", "broker-control"):  # the transport does not create them
        make_writable(DATA_DIR / folder)
    CELERY_BROKER_TRANSPORT = "config.file_broker.Transport"
    CELERY_BROKER_TRANSPORT_OPTIONS = {
        "data_folder_in": str(DATA_DIR / "broker"),
        "data_folder_out": str(DATA_DIR / "broker"),
        "control_folder": str(DATA_DIR / "broker-control"),
    }
elif CELERY_BROKER_URL.startswith(("redis", "valkey")):
    # Unacknowledged tasks are redelivered after this; leases make a double delivery harmless.
    CELERY_BROKER_TRANSPORT_OPTIONS = {"visibility_timeout": 1800}
CELERY_BEAT_SCHEDULE_FILENAME = str(DATA_DIR / "celerybeat-schedule")
CELERY_TASK_DEFAULT_QUEUE = env.str("CELERY_QUEUE", default="memorybank")

# --- the memory bank --------------------------------------------------------------------------------


def _llm(prefix: str, fallback: str = "") -> dict[str, Any] | None:
    """Options of a model alias, from ``{prefix}BASE_URL`` and related variables, or else ``{fallback}BASE_URL`` etc.

    None if neither a base URL nor an API key is set.
    """

    def read(name: str, default: str = "") -> str:
        inherited = env.str(f"{fallback}{name}", default=default) if fallback else default
        return env.str(f"{prefix}{name}", default="") or inherited

    if not (read("BASE_URL") or read("API_KEY")):
        return None
    return {
        "BACKEND": "memorybank.llm.openai_compatible.OpenAICompatibleLLM",
        "BASE_URL": read("BASE_URL") or "https://api.openai.com/v1",
        "API_KEY": read("API_KEY"),
        "MODEL": read("MODEL", "gpt-4o-mini"),
        "TIMEOUT": _number(f"{prefix}TIMEOUT", _number(f"{fallback or prefix}TIMEOUT", 60.0)),
        "MAX_RETRIES": _number(f"{prefix}MAX_RETRIES", _number(f"{fallback or prefix}MAX_RETRIES", 1)),
        "JSON_SCHEMA": env.bool(f"{prefix}JSON_SCHEMA", env.bool(f"{fallback or prefix}JSON_SCHEMA", None)),
    }


def _tunables() -> dict[str, Any]:
    """The values of all ``MEMORYBANK_<NAME>`` variables; a system check reports unknown names."""
    known = {name.upper(): default for name, default in conf.numeric_settings()}
    prefix = "MEMORYBANK_"
    given = [name.removeprefix(prefix) for name, value in os.environ.items() if name.startswith(prefix) and value]
    return {name: _number(prefix + name, known[name]) if name in known else env.str(prefix + name) for name in given}


def _embeddings() -> dict[str, Any]:
    """Options from ``EMBEDDING_BASE_URL`` and related variables; {} if EMBEDDING_MODEL is not set."""
    if not env.str("EMBEDDING_MODEL", default=""):
        return {}
    return {
        "BACKEND": "memorybank.llm.embeddings.OpenAICompatibleEmbedder",
        "BASE_URL": env.str("EMBEDDING_BASE_URL", default=""),
        "API_KEY": env.str("EMBEDDING_API_KEY", default=""),
        "MODEL": env.str("EMBEDDING_MODEL"),
        "TIMEOUT": _number("EMBEDDING_TIMEOUT", 10.0),
        "MAX_RETRIES": 0,
    }


def _prices(prefix: str, fallback: str = "") -> tuple[float, float]:
    """Prices of a million prompt tokens, and of a million completion tokens."""
    prompt, completion = (
        _number(f"{prefix}{name}", _number(f"{fallback or prefix}{name}", 0.0))
        for name in ("PROMPT_PRICE", "COMPLETION_PRICE")
    )
    return prompt, completion


CURRENCY = env.str("CURRENCY", default="USD")  # the currency of all prices
LLM_CONTEXT_TOKENS = _number("LLM_CONTEXT_TOKENS", 32_000)
# Whether the chat model writes a better title after the first answer than the beginning of the message.
CHAT_TITLES = env.bool("CHAT_TITLES", default=True)
MEMORYBANK: dict[str, Any] = {
    "LLMS": {
        alias: options
        for alias, options in {"chat": _llm("LLM_"), "summary": _llm("SUMMARY_LLM_", "LLM_")}.items()
        if options
    },
    "EMBEDDINGS": _embeddings(),
    "PRICES": {
        "chat": _prices("LLM_"),
        "summary": _prices("SUMMARY_LLM_", "LLM_"),
        "embedding": (_number("EMBEDDING_PRICE", 0.0), 0.0),
    },
    "CAPPED_FOR_BANK": "projects.tenancy.budget.is_capped",
    "ROW_SECURITY_ROLE": ROW_SECURITY_ROLE,
    "TRUSTED_AUTHORS": "projects.tenancy.people.trusted_authors",
    "BANKS_FOR_USER": "projects.tenancy.permissions.banks_for",
    "ON_CHANGE": "projects.webhooks.queue.enqueue",
    "SEND_TASK": "config.celery.send_task",
    "SWEEP_SECONDS": env.float("SWEEP_SECONDS", default=60.0),
    **_tunables(),
}

# Base URL and API key of the upstream for requests to /v1, by provider. A project's own upstream takes precedence.
GATEWAY_UPSTREAMS = {
    name: tuple(env.str(f"GATEWAY_{name.upper()}_{part}", default="") for part in ("BASE_URL", "API_KEY"))
    for name in PROVIDERS
}
# Limits of the gateway: time for memory before the upstream is called; how long a key that was valid is trusted while
# the database does not answer; data that waits to be recorded, in each process.
GATEWAY_MEMORY_MILLISECONDS = _number("GATEWAY_MEMORY_MILLISECONDS", 250)
GATEWAY_KEY_SECONDS = _number("GATEWAY_KEY_SECONDS", 300)
GATEWAY_SPOOL_MEGABYTES = _number("GATEWAY_SPOOL_MEGABYTES", 64)
# Paths that are forwarded to the site's upstreams without memory, such as moderations.
GATEWAY_PASSED_PATHS = env.list("GATEWAY_PASSED_PATHS", default=[])
# Request headers that are forwarded to the site's upstreams, in addition to those of the protocols.
GATEWAY_PASSED_HEADERS = [name.lower() for name in env.list("GATEWAY_PASSED_HEADERS", default=[])]
if not GATEWAY_UPSTREAMS["openai"][0] and (_chat := _llm("LLM_")):
    GATEWAY_UPSTREAMS["openai"] = (_chat["BASE_URL"], _chat["API_KEY"])

if DEMO:
    MIDDLEWARE.append("config.middleware.not_found.NotFoundMiddleware")  # Django's own page lists all addresses
    # The sample chats are old: keep their block history and statistics regardless of their age.
    MEMORYBANK = {"HISTORY_DAYS": 36_500, "STATISTICS_DAYS": 36_500, **MEMORYBANK}
    if "summary" not in MEMORYBANK["LLMS"]:  # record the recorded answers at a large model's prices
        MEMORYBANK["PRICES"]["summary"] = (1.25, 10.0)

SWEEP_SECONDS = MEMORYBANK["SWEEP_SECONDS"]
CELERY_BEAT_SCHEDULE = {
    # expires: a task that no worker took in time is dropped; the next one does its work.
    "sweep": {"task": "memorybank.tasks.sweep", "schedule": SWEEP_SECONDS, "options": {"expires": SWEEP_SECONDS}},
    "webhooks": {
        "task": "projects.webhooks.tasks.deliver",
        "schedule": SWEEP_SECONDS,
        "options": {"expires": SWEEP_SECONDS},
    },
    "imports": {
        "task": "projects.importing.tasks.import_waiting",
        "schedule": SWEEP_SECONDS,
        "options": {"expires": SWEEP_SECONDS},
    },
    "clean-up": {"task": "projects.management.tasks.clean_up", "schedule": 86_400, "options": {"expires": 86_400}},
}
# Enables the API endpoints that create tenants, projects, members and keys. Empty: they are disabled.
OPERATOR_API_KEY = env.str("OPERATOR_API_KEY", default="")
if 0 < len(OPERATOR_API_KEY) < 32:
    raise ImproperlyConfigured("OPERATOR_API_KEY: at least 32 characters are needed.")
# Whether webhooks may go to private addresses and without TLS: for receivers on the same network.
WEBHOOK_PRIVATE_ADDRESSES = env.bool("WEBHOOK_PRIVATE_ADDRESSES", default=False)

# --- monitoring ------------------------------------------------------------------------------------

METRICS_TOKEN = env.str("METRICS_TOKEN", default="")
LOG_FORMAT = env.str("LOG_FORMAT", default="line")
if LOG_FORMAT not in ("line", "json"):
    raise ImproperlyConfigured(f"LOG_FORMAT: “{LOG_FORMAT[:40]}” is neither line nor json.")
LOGGING = logs.configuration(LOG_FORMAT, server_level="WARNING" if DEMO else "INFO")
