"""Row-level security: a policy for each table with rows of a bank or its owner, so that PostgreSQL isolates them.

``migrate`` installs the policies if ROW_SECURITY_ROLE names the role that web and workers connect as, and removes them
if it is empty. FORCE applies them to the owner of the tables, too. They compare with what ``bank_scope`` has set.
"""

from collections.abc import Iterator
from typing import Any

from django.core.checks import CheckMessage, Tags, Warning, register
from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Model

from memorybank import bank_scope, conf
from memorybank.data_inventory import NO_WORDS, TABLES, StoredTable

POLICY = "memorybank_banks"
#: Marks the full-text match operator as leakproof, which it is: it reveals nothing about the rows it compares. Without
#: this, PostgreSQL applies the policy first and reads all documents of a bank instead of using the full-text index.
LEAKPROOF = "ALTER FUNCTION pg_catalog.ts_match_vq(tsvector, tsquery) LEAKPROOF"
IS_SUPERUSER = "SELECT rolsuper FROM pg_roles WHERE rolname = current_user"
HAS_POLICY = "SELECT count(*) FROM pg_policies WHERE policyname = %s"
ROLE = "SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = %s"
OWNED = "SELECT count(*) FROM pg_tables WHERE schemaname = current_schema() AND tablename = ANY(%s) AND tableowner = %s"
FORCED = "SELECT relname FROM pg_class WHERE relrowsecurity AND relforcerowsecurity AND relname = ANY(%s)"
PRESENT = "SELECT tablename FROM pg_tables WHERE schemaname = current_schema() AND tablename = ANY(%s)"
IS_LEAKPROOF = "SELECT proleakproof FROM pg_proc WHERE oid = 'pg_catalog.ts_match_vq'::regproc"


def separated() -> dict[type[Model], str]:
    """Models whose rows belong to a bank, each with the lookup to it: all models of the data inventory with a bank."""
    others = {model: "bank" for model in NO_WORDS if any(field.name == "bank" for field in model._meta.fields)}
    return {table.model: table.bank for table in TABLES if table.bank} | others


def _policies() -> Iterator[tuple[type[Model], str]]:
    """Each model that gets a policy, with the SQL condition of its visible rows."""
    yield from ((model, _condition(model, bank, bank_scope.BANKS)) for model, bank in separated().items())
    yield from ((table.model, _condition(table.model, table.owner, bank_scope.OWNERS)) for table in of_owners())


def of_owners() -> list[StoredTable]:
    """Tables whose rows belong to an owner of banks."""
    return [table for table in TABLES if table.owner]


def attach(connection: BaseDatabaseWrapper, **_: Any) -> None:
    """Add the wrapper that sends the entered banks to a new connection, if row-level security is on."""
    wrapped = bank_scope.send_with in connection.execute_wrappers
    if connection.vendor == "postgresql" and conf.current().row_security_role and not wrapped:
        connection.execute_wrappers.append(bank_scope.send_with)


def install(using: str, **_: Any) -> None:
    """After ``migrate``: install the policies and grant the role privileges; without a role, remove the policies."""
    connection = connections[using]
    if connection.vendor != "postgresql":
        return
    role = conf.current().row_security_role
    with connection.cursor() as cursor:
        cursor.execute(HAS_POLICY, [POLICY])
        if role or cursor.fetchone()[0]:
            cursor.execute(IS_SUPERUSER)
            is_superuser = cursor.fetchone()[0]
            for statement in statements(connection, role, is_superuser=is_superuser):
                cursor.execute(statement)


def statements(connection: BaseDatabaseWrapper, role: str, *, is_superuser: bool) -> Iterator[str]:
    """The SQL that installs the policies and privileges for ``role``; "" removes the policies."""
    quote = connection.ops.quote_name
    for model, condition in _policies():
        name = quote(model._meta.db_table)
        yield f"DROP POLICY IF EXISTS {POLICY} ON {name}"
        if role:
            yield f"CREATE POLICY {POLICY} ON {name} USING ({condition})"
        switches = ("ENABLE", "FORCE") if role else ("DISABLE", "NO FORCE")
        yield from (f"ALTER TABLE {name} {switch} ROW LEVEL SECURITY" for switch in switches)
    if role:
        yield f"GRANT USAGE ON SCHEMA public TO {quote(role)}"
        yield f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO {quote(role)}"
        yield f"GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA public TO {quote(role)}"
        if is_superuser:
            yield LEAKPROOF


def _condition(model: type[Model], lookup: str, variable: str) -> str:
    """SQL condition: the row is entered, by its own column or because the row it refers to is visible."""
    setting = f"current_setting('{variable}', true)"
    # Subqueries, because PostgreSQL evaluates them once per statement and not once per row.
    every = f"(SELECT {setting}) = '{bank_scope.EVERY}'"
    meta, (first, *rest) = model._meta, lookup.split("__")
    if not rest:
        column = meta.pk if first == "pk" else meta.get_field(first)
        ids = f"(SELECT NULLIF(NULLIF({setting}, ''), '{bank_scope.EVERY}')::bigint[])::bigint[]"
        return f"{every} OR {column.column} = ANY ({ids})"  # type: ignore[union-attr]
    field = meta.get_field(first)
    owner: type[Model] = field.related_model  # type: ignore[assignment]
    theirs, ours = owner._meta.db_table, f"{meta.db_table}.{field.column}"  # type: ignore[union-attr]
    return f"{every} OR EXISTS (SELECT 1 FROM {theirs} WHERE {theirs}.{owner._meta.pk.column} = {ours})"


@register(Tags.security, deploy=True)
def check_switched_on(**_: Any) -> list[CheckMessage]:
    """Warn if the database is PostgreSQL and row-level security is off."""
    is_postgresql = connections["default"].vendor == "postgresql"
    if not is_postgresql or conf.current().row_security_role:
        return []
    hint = "See “Tenants apart in the database” in docs/operating.md."
    return [Warning("Row-level security is off: only the code keeps tenants apart.", hint=hint, id="memorybank.W001")]


@register(Tags.database)
def check_policies(databases: Any = None, **_: Any) -> list[CheckMessage]:
    """Warn if policies are missing, the role can bypass them, or full-text search would be slow."""
    role = conf.current().row_security_role
    if not role or "default" not in (databases or []) or connections["default"].vendor != "postgresql":
        return []
    tables = [model._meta.db_table for model, _condition in _policies()]
    with connections["default"].cursor() as cursor:
        return [Warning(text, id="memorybank.W002") for text in _weaknesses(cursor, role, tables)]


def _weaknesses(cursor: Any, role: str, tables: list[str]) -> Iterator[str]:
    def ask(query: str, *values: Any) -> list[Any]:
        cursor.execute(query, values)
        return [row[0] for row in cursor.fetchall()]

    bypasses, present = ask(ROLE, role), ask(PRESENT, tables)
    if not bypasses:
        yield f"ROW_SECURITY_ROLE: there is no role “{role}”."
    elif bypasses[0]:
        yield f"ROW_SECURITY_ROLE: “{role}” is a superuser or bypasses row-level security."
    if any(ask(OWNED, tables, role)):
        yield f"ROW_SECURITY_ROLE: “{role}” owns tables, so it can drop their policies. Migrate as another role."
    if open_tables := sorted(set(present) - set(ask(FORCED, tables))):
        yield f"Row-level security is missing on {', '.join(open_tables)}. Run: python manage.py migrate"
    if not any(ask(IS_LEAKPROOF)):
        yield f"Recall reads all documents of a bank until a superuser has run: {LEAKPROOF};"
