"""Parts that need SQL: the full-text index, and on PostgreSQL that nothing on an audit log is changed.

Written by hand and kept when 0001 is made again. SQLite drops triggers with their table, so a later migration that
makes SearchDocument again there must create them again; a test sees to it.
"""

from django.db import migrations

# detail=none: only which rows have a word.
SQLITE = [
    """CREATE VIRTUAL TABLE memorybank_search USING fts5(words, content='memorybank_searchdocument',
       content_rowid='output_id', detail='none', columnsize=0, tokenize='ascii')""",
    """CREATE TRIGGER memorybank_search_insert AFTER INSERT ON memorybank_searchdocument BEGIN
       INSERT INTO memorybank_search (rowid, words) VALUES (new.output_id, new.words); END""",
    """CREATE TRIGGER memorybank_search_delete AFTER DELETE ON memorybank_searchdocument BEGIN
       INSERT INTO memorybank_search (memorybank_search, rowid, words)
       VALUES ('delete', old.output_id, old.words); END""",
    """CREATE TRIGGER memorybank_search_update AFTER UPDATE OF output_id, words ON memorybank_searchdocument BEGIN
       INSERT INTO memorybank_search (memorybank_search, rowid, words)
       VALUES ('delete', old.output_id, old.words);
       INSERT INTO memorybank_search (rowid, words) VALUES (new.output_id, new.words); END""",
    # Documents are there already when a database comes back from 0001.
    "INSERT INTO memorybank_search (memorybank_search) VALUES ('rebuild')",
]
SQLITE_BACK = [
    "DROP TRIGGER memorybank_search_insert",
    "DROP TRIGGER memorybank_search_delete",
    "DROP TRIGGER memorybank_search_update",
    "DROP TABLE memorybank_search",
]
# Triggers for deletions are given the table of the owners of the audit logs, and the column that names one. They look
# when the transaction ends: then the bank is gone, too, or nothing goes.
POSTGRESQL = [
    """ALTER TABLE memorybank_searchdocument
       ADD COLUMN search tsvector GENERATED ALWAYS AS (words::tsvector) STORED""",
    "CREATE INDEX memorybank_search ON memorybank_searchdocument USING gin (search)",
    """CREATE FUNCTION memorybank_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    stays boolean;
BEGIN
    IF TG_OP = 'UPDATE' THEN
        RAISE restrict_violation USING MESSAGE = 'Events of an audit log cannot be changed.';
    END IF;
    EXECUTE format('SELECT EXISTS (SELECT 1 FROM %I WHERE id = ($1).%I)', TG_ARGV[0], TG_ARGV[1]) INTO stays USING OLD;
    IF stays THEN
        RAISE restrict_violation USING MESSAGE = 'Events of an audit log cannot be deleted.';
    END IF;
    RETURN NULL;
END $$""",
    """CREATE TRIGGER memorybank_event_unchanged AFTER UPDATE ON memorybank_event
       FOR EACH ROW EXECUTE FUNCTION memorybank_append_only()""",
    """CREATE CONSTRAINT TRIGGER memorybank_event_kept AFTER DELETE ON memorybank_event DEFERRABLE INITIALLY DEFERRED
       FOR EACH ROW EXECUTE FUNCTION memorybank_append_only('memorybank_bank', 'bank_id')""",
]
POSTGRESQL_BACK = [
    "DROP TRIGGER memorybank_event_kept ON memorybank_event",
    "DROP TRIGGER memorybank_event_unchanged ON memorybank_event",
    "DROP FUNCTION memorybank_append_only",
    "ALTER TABLE memorybank_searchdocument DROP COLUMN search",
]
FORWARDS = {"sqlite": SQLITE, "postgresql": POSTGRESQL}
BACKWARDS = {"sqlite": SQLITE_BACK, "postgresql": POSTGRESQL_BACK}


def create(apps, schema_editor):
    for statement in FORWARDS[schema_editor.connection.vendor]:
        schema_editor.execute(statement, params=None)


def drop(apps, schema_editor):
    for statement in BACKWARDS[schema_editor.connection.vendor]:
        schema_editor.execute(statement, params=None)


class Migration(migrations.Migration):
    dependencies = [("memorybank", "0001_initial")]

    operations = [migrations.RunPython(create, drop)]
