"""Whether the database has all tables of this code."""

from django.db import DatabaseError, connection
from django.db.migrations.loader import MigrationLoader


def why_not_migrated() -> str:
    """Why no process of this code may start: migrations are not applied; "" if all are.

    Migrations of newer code do not count: after they are applied, processes of the last release work on. A database
    that does not answer is no reason either. The caller closes the connection.
    """
    try:
        loader = MigrationLoader(connection)
    except DatabaseError:
        return ""
    applied = loader.applied_migrations or {}
    missing = sorted(node for node in loader.graph.nodes if node not in applied)
    if not missing:
        return ""
    (app, name), number = missing[0], len(missing)
    what = f"1 migration is not applied ({app}.{name})" if number == 1 else f"{number} migrations are not applied"
    return f"{what}. Run “python manage.py migrate” first."
