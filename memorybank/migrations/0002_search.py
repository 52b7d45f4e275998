"""What recall searches. On SQLite an FTS5 table kept in step by triggers, on PostgreSQL a tsvector with GIN."""

import django.db.models.deletion
from django.db import migrations, models

# detail=none: only which rows have a word. SQLite drops triggers with their table, so a later
# migration that alters SearchDocument there must create them again; a test sees to it.
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
]
SQLITE_BACK = [
    "DROP TRIGGER memorybank_search_insert",
    "DROP TRIGGER memorybank_search_delete",
    "DROP TRIGGER memorybank_search_update",
    "DROP TABLE memorybank_search",
]
POSTGRESQL = [
    """ALTER TABLE memorybank_searchdocument
       ADD COLUMN search tsvector GENERATED ALWAYS AS (words::tsvector) STORED""",
    "CREATE INDEX memorybank_search ON memorybank_searchdocument USING gin (search)",
]
POSTGRESQL_BACK = ["ALTER TABLE memorybank_searchdocument DROP COLUMN search"]


class RunVendorSQL(migrations.operations.base.Operation):
    """Statements for the database at hand: ``{vendor: (forwards, backwards)}``."""

    reduces_to_sql = True

    def __init__(self, statements):
        self.statements = statements

    def state_forwards(self, app_label, state):
        pass

    def database_forwards(self, app_label, schema_editor, from_state, to_state):
        for statement in self.statements[schema_editor.connection.vendor][0]:
            schema_editor.execute(statement)

    def database_backwards(self, app_label, schema_editor, from_state, to_state):
        for statement in self.statements[schema_editor.connection.vendor][1]:
            schema_editor.execute(statement)

    def describe(self):
        return "Create the full-text index"


class Migration(migrations.Migration):
    dependencies = [("memorybank", "0001_initial")]

    operations = [
        migrations.AddField(
            model_name='bank',
            name='lead',
            field=models.TextField(blank=True, editable=False, help_text='What stands before the answer to a question.'),
        ),
        migrations.AddField(
            model_name='chat',
            name='lead',
            field=models.TextField(blank=True, editable=False),
        ),
        migrations.AddField(
            model_name='chat',
            name='index_due',
            field=models.BooleanField(default=False, editable=False, help_text='Turns wait to be indexed.'),
        ),
        migrations.AddField(
            model_name='chat',
            name='indexed_through',
            field=models.PositiveBigIntegerField(default=0, editable=False, help_text='The last output id that recall has looked at.'),
        ),
        migrations.AddIndex(
            model_name='chat',
            index=models.Index(condition=models.Q(('index_due', True)), fields=['id'], name='chat_index_due'),
        ),
        migrations.AlterField(
            model_name='llmcall',
            name='purpose',
            field=models.CharField(choices=[('summary', 'Summary'), ('chunk', 'Chunk'), ('merge', 'Merge'), ('digest', 'Digest'), ('chat', 'Chat'), ('embedding', 'Embedding')], max_length=10),
        ),
        migrations.CreateModel(
            name='SearchDocument',
            fields=[
                ('output', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='document', serialize=False, to='memorybank.output')),
                ('words', models.TextField(help_text='What the full-text index holds, see memorybank.recall.words.')),
                ('length', models.PositiveIntegerField(help_text='Content words of the turn.')),
                ('lines', models.JSONField(help_text='[speaker, sentence, worth] in the order they were said.')),
                ('said_at', models.DateTimeField()),
                ('previous', models.PositiveBigIntegerField(blank=True, help_text='The output before it in its chat; if that is erased, it has no neighbour there.', null=True)),
                ('embedded_with', models.CharField(blank=True, help_text='The embedding model that has read it.', max_length=200)),
                ('bank', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='documents', to='memorybank.bank')),
                ('chat', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='documents', to='memorybank.chat')),
            ],
            options={
                'indexes': [
                    models.Index(fields=['chat'], name='document_by_chat'),
                    models.Index(fields=['previous'], name='document_by_previous'),
                    models.Index(fields=['embedded_with'], name='document_by_model'),
                ],
            },
        ),
        migrations.CreateModel(
            name='Embedding',
            fields=[
                ('document', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='embedding', serialize=False, to='memorybank.searchdocument')),
                ('model', models.CharField(max_length=200)),
                ('dims', models.PositiveIntegerField()),
                ('vector', models.BinaryField()),
                ('bank', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='embeddings', to='memorybank.bank')),
            ],
            options={
                'indexes': [models.Index(fields=['bank', 'model', 'dims'], name='embedding_by_bank')],
            },
        ),
        RunVendorSQL({"sqlite": (SQLITE, SQLITE_BACK), "postgresql": (POSTGRESQL, POSTGRESQL_BACK)}),
    ]
