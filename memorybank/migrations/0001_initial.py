import django.core.serializers.json
import django.core.validators
import django.db.models.deletion
import django.db.models.expressions
import secrets
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
    ]

    operations = [
        migrations.CreateModel(
            name='AnswerRating',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('person', models.CharField(help_text="The person's name, as in the author of a turn.", max_length=200)),
                ('helpful', models.BooleanField()),
                ('model', models.CharField(blank=True, help_text='The model that answered; empty: not known.', max_length=200)),
                ('at', models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name='Bank',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('leased_until', models.DateTimeField(blank=True, editable=False, null=True)),
                ('lease_token', models.CharField(blank=True, editable=False, max_length=32)),
                ('enabled', models.BooleanField(default=False)),
                ('max_tokens', models.PositiveIntegerField(default=2000, help_text='Tokens of the block that goes into every prompt, 200 to 32,000.', validators=[django.core.validators.MinValueValidator(200), django.core.validators.MaxValueValidator(32000)], verbose_name='token budget')),
                ('recall_tokens', models.PositiveIntegerField(default=600, help_text='Tokens of notes that are recalled for the newest message, at most 8,000; 0: none.', validators=[django.core.validators.MaxValueValidator(8000)], verbose_name='recall budget')),
                ('personal_tokens', models.PositiveIntegerField(default=200, help_text='Tokens of the part that only the asking person gets, at most 8,000; 0: none.', validators=[django.core.validators.MaxValueValidator(8000)], verbose_name='personal budget')),
                ('new_chats_private', models.BooleanField(default=False, help_text='What is said in a new chat is remembered for its author only, until they share it.', verbose_name='new chats are private')),
                ('idle_minutes', models.PositiveIntegerField(default=10, help_text='A chat is summarised when nobody has written in it for this many minutes.', validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(10080)])),
                ('timezone', models.CharField(default='UTC', help_text='Days, weeks and months begin and end in this zone, such as Europe/Berlin.', max_length=64, verbose_name='time zone')),
                ('focus', models.TextField(blank=True, help_text='What matters most in this project; the summariser receives it as an instruction.', max_length=1000)),
                ('redact_personal', models.BooleanField(default=True, help_text='Mask e-mail addresses, telephone, card and id numbers, streets and birthdays in memory. Secrets are always masked.', verbose_name='mask personal data')),
                ('monthly_cap', models.DecimalField(blank=True, decimal_places=2, help_text='The most that memory may cost per month (UTC), in the currency of the prices; empty: no cap. At the cap, memory is extracted without a model. Below it, the model rebuilds what was extracted.', max_digits=12, null=True, validators=[django.core.validators.MinValueValidator(0)])),
                ('keep_turns_days', models.PositiveIntegerField(blank=True, help_text='The text of a turn is deleted after this many days; empty: never.', null=True, validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(36500)], verbose_name='days to keep turns')),
                ('keep_memory_days', models.PositiveIntegerField(blank=True, help_text='Memory of a day is deleted after this many days, with everything derived from it; empty: never.', null=True, validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(36500)], verbose_name='days to keep memory')),
                ('disclosure_accepted_by', models.CharField(blank=True, editable=False, max_length=200)),
                ('disclosure_accepted_at', models.DateTimeField(blank=True, editable=False, null=True)),
                ('last_sequence', models.PositiveBigIntegerField(default=0, editable=False, help_text='The sequence of the newest turn.')),
                ('off_after', models.PositiveBigIntegerField(default=0, editable=False, help_text='While it is off: the sequence of the last turn while it was on.')),
                ('epoch', models.PositiveIntegerField(default=0, editable=False, help_text='Incremented by every erasure.')),
                ('version', models.PositiveBigIntegerField(default=1, editable=False, help_text='Incremented by every change.')),
                ('index_version', models.PositiveBigIntegerField(default=0, editable=False, help_text='Incremented whenever turns are indexed.')),
                ('capped_at', models.DateTimeField(blank=True, editable=False, help_text='Since when the monthly cap is reached.', null=True)),
                ('remembers_since', models.DateTimeField(blank=True, editable=False, help_text='Turns from before this time are excluded from memory.', null=True)),
                ('expire_at', models.DateTimeField(blank=True, editable=False, help_text='When retention is checked next.', null=True)),
                ('consolidate_at', models.DateTimeField(blank=True, editable=False, null=True)),
                ('consolidated_at', models.DateTimeField(blank=True, editable=False, help_text='When it was last consolidated.', null=True)),
                ('queue_position', models.PositiveBigIntegerField(blank=True, editable=False, help_text='Its position in the work queue; empty: not queued.', null=True)),
                ('attempts', models.PositiveIntegerField(default=0, editable=False)),
                ('last_error', models.CharField(blank=True, editable=False, max_length=500)),
            ],
        ),
        migrations.CreateModel(
            name='BankDay',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('day', models.DateField()),
                ('due', models.PositiveIntegerField(default=0)),
                ('block_tokens', models.PositiveIntegerField(default=0)),
                ('budget', models.PositiveIntegerField(default=0, help_text='0: no block was stored on that day.')),
            ],
        ),
        migrations.CreateModel(
            name='BlockLineVersion',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('since', models.DateTimeField()),
                ('until', models.DateTimeField(null=True)),
                ('text', models.TextField()),
                ('speaker', models.CharField(max_length=200)),
                ('label', models.CharField(help_text='The date at the beginning of its paragraph.', max_length=100)),
                ('period_start', models.DateField()),
                ('tier', models.PositiveSmallIntegerField()),
                ('pinned', models.BooleanField()),
                ('is_report', models.BooleanField(default=False, help_text="It was told in its speaker's name and in quotes.")),
                ('digest', models.BooleanField(help_text="A digest's line: its writer had also read turns that it does not cite.")),
                ('said_at', models.DateTimeField()),
                ('facts', models.JSONField(help_text='Ids of the facts that it stood for or restated.')),
                ('chats', models.JSONField(help_text='Keys of the chats that it quoted.')),
            ],
        ),
        migrations.CreateModel(
            name='Chat',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('leased_until', models.DateTimeField(blank=True, editable=False, null=True)),
                ('lease_token', models.CharField(blank=True, editable=False, max_length=32)),
                ('key', models.CharField(max_length=200)),
                ('title', models.CharField(blank=True, max_length=200)),
                ('private', models.BooleanField(default=False, help_text='Its memory is for its readers only; without readers nothing is made of it.')),
                ('begun_by', models.CharField(blank=True, editable=False, help_text='The program that began it.', max_length=64)),
                ('last_output_at', models.DateTimeField(blank=True, null=True)),
                ('pending_outputs', models.PositiveIntegerField(default=0, help_text='Turns waiting to be summarised.')),
                ('stale', models.BooleanField(default=False, editable=False, help_text='A summary has to be rebuilt.')),
                ('summarised_through', models.PositiveBigIntegerField(default=0, help_text='The watermark: the sequence of the last output that memory covers.')),
                ('indexed_through', models.PositiveBigIntegerField(default=0, editable=False, help_text='The sequence of the last output that was indexed.')),
                ('index_due', models.BooleanField(default=False, editable=False, help_text='Turns wait to be indexed.')),
                ('due_at', models.DateTimeField(blank=True, help_text='When the sweep should look at it; empty: never.', null=True)),
                ('attempts', models.PositiveIntegerField(default=0)),
                ('failed_since', models.DateTimeField(blank=True, help_text='First failure since the last success.', null=True)),
                ('parked_at', models.DateTimeField(blank=True, null=True)),
                ('last_error', models.CharField(blank=True, max_length=500)),
                ('quoted_words', models.JSONField(default=list, editable=False, help_text='Keyed hashes of the words that its answers quoted from memory that not everybody may read.')),
            ],
        ),
        migrations.CreateModel(
            name='ChatReader',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('person', models.CharField(max_length=200)),
            ],
        ),
        migrations.CreateModel(
            name='Checkpoint',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('through', models.PositiveBigIntegerField(help_text='The sequence of the last output that it replaces.')),
                ('notes', models.JSONField(default=list)),
                ('text', models.TextField()),
                ('tokens_before', models.PositiveIntegerField(help_text='Tokens of the chat in a prompt before, without system prompt and memory.')),
                ('tokens_after', models.PositiveIntegerField(help_text='Tokens of the chat in a prompt afterwards, with the turns that were kept.')),
                ('method', models.CharField(max_length=200)),
                ('made_at', models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name='Compaction',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('leased_until', models.DateTimeField(blank=True, editable=False, null=True)),
                ('lease_token', models.CharField(blank=True, editable=False, max_length=32)),
                ('percent', models.PositiveSmallIntegerField(default=0)),
                ('stage', models.CharField(choices=[('load', 'reading the chat'), ('strategy', 'planning'), ('parts', 'taking notes'), ('merged', 'putting the notes together'), ('written', 'written')], default='load', max_length=10)),
                ('done', models.PositiveIntegerField(default=0, help_text='Parts that were read.')),
                ('of', models.PositiveIntegerField(default=0, help_text='Parts in total.')),
                ('failures', models.PositiveIntegerField(default=0)),
                ('retry_at', models.DateTimeField(blank=True, help_text='No automatic retry before this time.', null=True)),
                ('error', models.CharField(blank=True, max_length=500)),
                ('focus', models.CharField(blank=True, help_text='What the checkpoint should focus on; empty once it is written.', max_length=1000)),
                ('awaited', models.BooleanField(default=False, help_text='A person asked for it, so it is resumed after an interruption.')),
            ],
        ),
        migrations.CreateModel(
            name='Entry',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('granularity', models.CharField(choices=[('conversation', 'Conversation'), ('day', 'Day'), ('week', 'Week'), ('month', 'Month'), ('background', 'Background')], max_length=12)),
                ('period_start', models.DateField(help_text="First day of its period, in the bank's time zone.")),
                ('first_output', models.PositiveBigIntegerField(blank=True, help_text='The sequence of its first turn.', null=True)),
                ('last_output', models.PositiveBigIntegerField(blank=True, help_text='The sequence of its last turn.', null=True)),
                ('output_count', models.PositiveIntegerField(help_text='Turns it covers, counted once.')),
                ('first_at', models.DateTimeField()),
                ('last_at', models.DateTimeField()),
                ('tokens', models.PositiveIntegerField(default=0, help_text='Tokens of its facts, and of the facts that it keeps.')),
                ('method', models.CharField(help_text='Model and prompt version, or the method without a model.', max_length=200)),
                ('provisional', models.BooleanField(default=False)),
                ('updates', models.PositiveIntegerField(default=0, help_text='Extensions since it was last rebuilt.')),
                ('stale', models.BooleanField(default=False, help_text='It has to be rebuilt from the remaining turns.')),
                ('dropped_lines', models.PositiveIntegerField(default=0, help_text='Lines of the model that were dropped because what they cite does not say them.')),
                ('left_out', models.PositiveIntegerField(default=0, help_text='Notes that a digest does not tell, as its model said.')),
            ],
            options={
                'verbose_name_plural': 'entries',
            },
        ),
        migrations.CreateModel(
            name='Erasure',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('chat', 'Chat'), ('author', 'Author'), ('output', 'turn'), ('line', 'Line'), ('everything', 'Everything')], max_length=10)),
                ('subject', models.CharField(help_text='A keyed hash of what was erased.', max_length=40)),
                ('asked_by', models.CharField(max_length=200)),
                ('epoch', models.PositiveIntegerField(help_text='Work that began before this epoch writes nothing.')),
                ('counts', models.JSONField(help_text='How much was erased and will be rebuilt; empty for further turns of a line.')),
                ('at', models.DateTimeField()),
            ],
            options={
                'ordering': ['-pk'],
            },
        ),
        migrations.CreateModel(
            name='ErasureRequest',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('asked_in', models.PositiveBigIntegerField(db_index=True, help_text='The turn with the request.')),
                ('author', models.CharField(max_length=200)),
                ('outputs', models.JSONField(help_text='Ids of the turns to forget, including the one with the request.')),
                ('facts', models.JSONField(default=list, help_text='Ids of the facts that were hidden because of it.')),
                ('state', models.CharField(choices=[('open', 'Open'), ('restored', 'Restored'), ('erased', 'Erased')], default='open', max_length=10)),
                ('asked_at', models.DateTimeField()),
                ('closed_by', models.CharField(blank=True, max_length=200)),
                ('closed_at', models.DateTimeField(blank=True, null=True)),
            ],
            options={
                'ordering': ['-pk'],
            },
        ),
        migrations.CreateModel(
            name='Event',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveBigIntegerField(editable=False, help_text='Its position in the audit log, from 1.')),
                ('seal', models.CharField(editable=False, help_text='HMAC of the event and of the seal before.', max_length=64)),
                ('actor', models.CharField(max_length=200)),
                ('detail', models.JSONField(blank=True, default=dict, encoder=django.core.serializers.json.DjangoJSONEncoder)),
                ('at', models.DateTimeField()),
                ('action', models.CharField(choices=[('enable', 'Enable'), ('disable', 'Disable'), ('configure', 'Configure'), ('pin', 'Pin'), ('unpin', 'Unpin'), ('add', 'Add'), ('edit', 'Edit'), ('hide', 'Hide'), ('show', 'Show'), ('release', 'Release'), ('keep', 'Keep back'), ('erase', 'Erase'), ('export', 'Export'), ('read', 'Read'), ('retry', 'Retry'), ('summarise', 'Summarise'), ('compress', 'Compress'), ('rebuild', 'Rebuild'), ('private', 'Private'), ('public', 'Public'), ('ask', 'Ask to forget'), ('restore', 'Restore'), ('opt_out', 'Opt out'), ('opt_in', 'Opt in')], max_length=20)),
            ],
            options={
                'ordering': ['-pk'],
                'abstract': False,
            },
        ),
        migrations.CreateModel(
            name='Fact',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('position', models.PositiveIntegerField()),
                ('kind', models.CharField(choices=[('fact', 'Fact'), ('decision', 'Decision'), ('plan', 'Plan'), ('preference', 'Preference'), ('question', 'Question')], default='fact', max_length=10)),
                ('text', models.TextField()),
                ('speaker', models.CharField(blank=True, max_length=200)),
                ('said_on', models.DateField()),
                ('tokens', models.PositiveIntegerField()),
                ('weight', models.FloatField(default=0.5, help_text='How likely it is to be asked for later, 0 to 1.')),
                ('worth', models.GeneratedField(db_persist=True, expression=django.db.models.expressions.CombinedExpression(models.F('weight'), '/', django.db.models.expressions.CombinedExpression(models.F('tokens'), '+', models.Value(3))), output_field=models.FloatField())),
                ('tier', models.PositiveSmallIntegerField(editable=False, help_text='The tier of the live entry above it; empty for absorbed lines that no person decided on, and for facts of private chats.', null=True)),
                ('detail', models.BooleanField(default=False, help_text="A sentence that was extracted beside a model's facts.")),
                ('ongoing', models.BooleanField(default=False, editable=False, help_text='It states something temporary, which a newer fact may end.')),
                ('changing', models.BooleanField(default=False, editable=False, help_text='It states that something is over, and may replace older facts.')),
                ('part', models.PositiveSmallIntegerField(default=0, editable=False, help_text='The part of a long chat that a model wrote it from, counted from 0.')),
                ('pinned', models.BooleanField(default=False)),
                ('hidden', models.BooleanField(default=False)),
                ('edited_by', models.CharField(blank=True, help_text='Who wrote or edited it.', max_length=200)),
                ('edited_at', models.DateTimeField(blank=True, null=True)),
                ('original', models.TextField(blank=True, help_text='Its text before it was edited; empty: it was not.')),
                ('original_speaker', models.CharField(blank=True, max_length=200)),
                ('quarantine', models.CharField(blank=True, help_text='Why it is quarantined; empty: it is not.', max_length=200)),
                ('normative', models.BooleanField(default=False, editable=False, help_text='It says how to behave or answer; until somebody releases it, it binds only its author.')),
                ('reported', models.PositiveSmallIntegerField(default=0, editable=False, help_text="Whether it is told in its speaker's name and in quotes; its text has no quotes.")),
                ('released_by', models.CharField(blank=True, help_text='Who released it from quarantine.', max_length=200)),
                ('quarantine_confirmed_by', models.CharField(blank=True, help_text='Who decided that it stays quarantined.', max_length=200)),
            ],
            options={
                'ordering': ['entry_id', 'position'],
            },
        ),
        migrations.CreateModel(
            name='FactOutput',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
            ],
            options={
                'ordering': ['pk'],
            },
        ),
        migrations.CreateModel(
            name='FactSource',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
            ],
            options={
                'ordering': ['pk'],
            },
        ),
        migrations.CreateModel(
            name='Job',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('summarise', 'Summarise now'), ('compress', 'Compress now'), ('rebuild', 'Rebuild'), ('retry', 'Retry parked')], max_length=10)),
                ('asked_by', models.CharField(max_length=200)),
                ('asked_at', models.DateTimeField()),
                ('total', models.PositiveBigIntegerField(default=0, help_text='Chats, excess tokens or digests at the beginning.')),
                ('percent', models.PositiveSmallIntegerField(default=0, help_text='It never decreases.')),
                ('finished_at', models.DateTimeField(blank=True, null=True)),
            ],
            options={
                'ordering': ['-pk'],
            },
        ),
        migrations.CreateModel(
            name='KeptFact',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
            ],
            options={
                'ordering': ['pk'],
            },
        ),
        migrations.CreateModel(
            name='LLMCall',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('purpose', models.CharField(choices=[('summary', 'Summary'), ('chunk', 'Chunk'), ('merge', 'Merge'), ('digest', 'Digest'), ('chat', 'Chat'), ('compact', 'Compact'), ('title', 'Title'), ('embedding', 'Embedding')], max_length=10)),
                ('model', models.CharField(max_length=200)),
                ('prompt_tokens', models.PositiveIntegerField(default=0)),
                ('completion_tokens', models.PositiveIntegerField(default=0)),
                ('duration_ms', models.PositiveIntegerField(default=0)),
                ('outcome', models.CharField(choices=[('ok', 'OK'), ('unavailable', 'Unavailable'), ('misconfigured', 'Misconfigured'), ('rejected', 'Rejected'), ('unusable', 'Unusable')], max_length=15)),
                ('error', models.CharField(blank=True, max_length=500)),
                ('cost', models.DecimalField(blank=True, decimal_places=6, max_digits=12, null=True)),
                ('at', models.DateTimeField()),
            ],
            options={
                'verbose_name': 'LLM call',
            },
        ),
        migrations.CreateModel(
            name='LLMEndpoint',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('fingerprint', models.CharField(max_length=64, unique=True)),
                ('failures', models.PositiveIntegerField(default=0)),
                ('retry_at', models.DateTimeField(blank=True, null=True)),
                ('failing_since', models.DateTimeField(blank=True, null=True)),
                ('last_error', models.CharField(blank=True, max_length=500)),
                ('up_since', models.DateTimeField(blank=True, help_text='Since when it answers; empty: it does not.', null=True)),
            ],
        ),
        migrations.CreateModel(
            name='MaskedValue',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('digest', models.CharField(max_length=40)),
                ('length', models.PositiveSmallIntegerField()),
                ('kind', models.CharField(max_length=60)),
                ('personal', models.BooleanField(help_text='Masked only while the bank masks personal data.')),
            ],
        ),
        migrations.CreateModel(
            name='OptOut',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('author', models.CharField(max_length=200)),
                ('until', models.DateTimeField(blank=True, null=True)),
            ],
        ),
        migrations.CreateModel(
            name='Output',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('sequence', models.PositiveBigIntegerField(editable=False, help_text="Its position among its bank's turns; assigned again when it becomes ok.")),
                ('key', models.CharField(blank=True, help_text="The outer app's id, for idempotence.", max_length=200)),
                ('author', models.CharField(max_length=200)),
                ('said_by', models.CharField(blank=True, help_text='The speaker that the author quotes, in a transcript.', max_length=200)),
                ('answered_by', models.CharField(blank=True, help_text='The speaker who answered instead of the model, in a transcript.', max_length=200)),
                ('question', models.TextField(blank=True)),
                ('answer', models.TextField(blank=True)),
                ('messages', models.JSONField(blank=True, default=list)),
                ('metadata', models.JSONField(blank=True, default=dict, help_text='Labels of the outer application; no model reads them.')),
                ('status', models.CharField(choices=[('ok', 'OK'), ('error', 'Error'), ('blocked', 'Blocked'), ('cancelled', 'Cancelled'), ('stopped', 'Stopped'), ('pending', 'Pending')], default='ok', max_length=10)),
                ('error', models.CharField(blank=True, help_text="Why there is no answer: the provider's error message.", max_length=500)),
                ('withheld', models.BooleanField(default=False, help_text='Its author asked to forget it; memory does not use it.')),
                ('left_out', models.BooleanField(default=False, help_text='It is from before memory was switched on, and was not included.')),
                ('set_aside', models.BooleanField(default=False, help_text='Its chat was continued from an earlier turn; the next summary passes over it.')),
                ('quotes_private', models.BooleanField(default=False, editable=False, help_text='Its answer has words of memory that not everybody may read; a private chat of one reader uses it.')),
                ('replaces', models.JSONField(blank=True, default=list, help_text='Ids of outputs of its chat that it replaces once it is answered.')),
                ('created_at', models.DateTimeField(help_text='When it was first asked.')),
                ('asked_at', models.DateTimeField(blank=True, help_text='When it was last asked; empty once it is ok. Identifies an attempt.', null=True)),
            ],
            options={
                'ordering': ['sequence'],
            },
        ),
        migrations.CreateModel(
            name='PromptCount',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('day', models.DateField()),
                ('memory', models.CharField(choices=[('given', 'Given'), ('off', 'memory is off'), ('nothing', 'nothing is remembered yet'), ('aside', 'it was no message of a chat'), ('failed', 'memory failed, and the answer came without it'), ('slow', 'the database did not answer in time, and the answer came without memory')], max_length=10)),
                ('prompts', models.PositiveIntegerField(default=0)),
            ],
        ),
        migrations.CreateModel(
            name='PublicIdKey',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('secret', models.CharField(default=secrets.token_hex, max_length=64)),
            ],
        ),
        migrations.CreateModel(
            name='QuotedChat',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
            ],
        ),
        migrations.CreateModel(
            name='StoredBlock',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('version', models.PositiveBigIntegerField(help_text='The version of the bank that was rendered.')),
                ('made_at', models.DateTimeField(help_text='When it was rendered. Lines that were erased later are removed from it at once.', null=True)),
                ('text', models.TextField(blank=True)),
                ('tokens', models.PositiveIntegerField()),
                ('encoding', models.CharField(max_length=20)),
                ('lines', models.JSONField(help_text='Its lines and those in reserve, each by its fields; see MemoryLine.')),
            ],
        ),
        migrations.CreateModel(
            name='Sweep',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('at', models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name='AuditLog',
            fields=[
                ('length', models.PositiveBigIntegerField(default=0)),
                ('seal', models.CharField(blank=True, max_length=64)),
                ('end_seal', models.CharField(blank=True, help_text='HMAC of length and seal: without the key no log can be cut short.', max_length=64)),
                ('bank', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='audit_log', serialize=False, to='memorybank.bank')),
            ],
            options={
                'abstract': False,
            },
        ),
        migrations.AddIndex(
            model_name='bank',
            index=models.Index(condition=models.Q(('consolidate_at__isnull', False)), fields=['consolidate_at'], name='bank_to_consolidate'),
        ),
        migrations.AddIndex(
            model_name='bank',
            index=models.Index(condition=models.Q(('expire_at__isnull', False)), fields=['expire_at'], name='bank_expiring'),
        ),
        migrations.AddIndex(
            model_name='bank',
            index=models.Index(condition=models.Q(('queue_position__isnull', False)), fields=['queue_position'], name='bank_queued'),
        ),
        migrations.AddIndex(
            model_name='bank',
            index=models.Index(condition=models.Q(('capped_at__isnull', False)), fields=['capped_at'], name='bank_capped'),
        ),
        migrations.AddConstraint(
            model_name='bank',
            constraint=models.CheckConstraint(condition=models.Q(('enabled', False), ('disclosure_accepted_at__isnull', False), _connector='OR'), name='bank_enabled_after_disclosure'),
        ),
        migrations.AddConstraint(
            model_name='bank',
            constraint=models.CheckConstraint(condition=models.Q(('max_tokens__gte', 200), ('max_tokens__lte', 32000)), name='bank_budget_within_limits'),
        ),
        migrations.AddConstraint(
            model_name='bank',
            constraint=models.CheckConstraint(condition=models.Q(('recall_tokens__lte', 8000)), name='bank_recall_within_limits'),
        ),
        migrations.AddConstraint(
            model_name='bank',
            constraint=models.CheckConstraint(condition=models.Q(('personal_tokens__lte', 8000)), name='bank_personal_within_limits'),
        ),
        migrations.AddField(
            model_name='bankday',
            name='bank',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='days', to='memorybank.bank'),
        ),
        migrations.AddField(
            model_name='blocklineversion',
            name='bank',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='line_versions', to='memorybank.bank'),
        ),
        migrations.AddField(
            model_name='chat',
            name='bank',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='chats', to='memorybank.bank'),
        ),
        migrations.AddField(
            model_name='chatreader',
            name='chat',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='readers', to='memorybank.chat'),
        ),
        migrations.AddField(
            model_name='checkpoint',
            name='chat',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='checkpoints', to='memorybank.chat'),
        ),
        migrations.AddField(
            model_name='compaction',
            name='chat',
            field=models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='compaction', to='memorybank.chat'),
        ),
        migrations.AddField(
            model_name='entry',
            name='bank',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='entries', to='memorybank.bank'),
        ),
        migrations.AddField(
            model_name='entry',
            name='chat',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='entries', to='memorybank.chat'),
        ),
        migrations.AddField(
            model_name='entry',
            name='parent',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='children', to='memorybank.entry'),
        ),
        migrations.AddField(
            model_name='erasure',
            name='bank',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='erasures', to='memorybank.bank'),
        ),
        migrations.AddField(
            model_name='erasurerequest',
            name='bank',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='erasure_requests', to='memorybank.bank'),
        ),
        migrations.AddField(
            model_name='erasurerequest',
            name='chat',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='memorybank.chat'),
        ),
        migrations.AddField(
            model_name='event',
            name='bank',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='events', to='memorybank.bank'),
        ),
        migrations.AddField(
            model_name='fact',
            name='bank',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='facts', to='memorybank.bank'),
        ),
        migrations.AddField(
            model_name='fact',
            name='entry',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='facts', to='memorybank.entry'),
        ),
        migrations.AddField(
            model_name='fact',
            name='hidden_with',
            field=models.ForeignKey(blank=True, help_text='The line that rests on it and was hidden with it; both are shown again together.', null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='took_along', to='memorybank.fact'),
        ),
        migrations.AddField(
            model_name='fact',
            name='superseded_by',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='supersedes', to='memorybank.fact'),
        ),
        migrations.AddField(
            model_name='factoutput',
            name='fact',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='output_links', to='memorybank.fact'),
        ),
        migrations.AddField(
            model_name='factsource',
            name='fact',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='source_links', to='memorybank.fact'),
        ),
        migrations.AddField(
            model_name='factsource',
            name='source',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='restating_links', to='memorybank.fact'),
        ),
        migrations.AddField(
            model_name='fact',
            name='sources',
            field=models.ManyToManyField(help_text="The leaf facts that a digest's line rests on.", related_name='restated_by', through='memorybank.FactSource', through_fields=('fact', 'source'), to='memorybank.fact'),
        ),
        migrations.AddField(
            model_name='job',
            name='bank',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='jobs', to='memorybank.bank'),
        ),
        migrations.AddField(
            model_name='keptfact',
            name='entry',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='kept_links', to='memorybank.entry'),
        ),
        migrations.AddField(
            model_name='keptfact',
            name='fact',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='kept_links', to='memorybank.fact'),
        ),
        migrations.AddField(
            model_name='entry',
            name='kept',
            field=models.ManyToManyField(help_text='Leaf facts that a digest keeps unchanged.', related_name='kept_in', through='memorybank.KeptFact', to='memorybank.fact'),
        ),
        migrations.AddField(
            model_name='llmcall',
            name='bank',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='llm_calls', to='memorybank.bank'),
        ),
        migrations.AddField(
            model_name='maskedvalue',
            name='bank',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='masked_values', to='memorybank.bank'),
        ),
        migrations.AddField(
            model_name='optout',
            name='bank',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='opt_outs', to='memorybank.bank'),
        ),
        migrations.CreateModel(
            name='SearchDocument',
            fields=[
                ('output', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='document', serialize=False, to='memorybank.output')),
                ('sequence', models.PositiveBigIntegerField(help_text='The sequence of its output.')),
                ('words', models.TextField(help_text='The text in the full-text index.')),
                ('length', models.PositiveIntegerField(help_text='Content words of the turn.')),
                ('lines', models.JSONField(help_text='[speaker, sentence, weight, reported] in the order of the turn.')),
                ('said_at', models.DateTimeField()),
                ('previous', models.PositiveBigIntegerField(blank=True, help_text='The id of the previous output of its chat, which may be erased.', null=True)),
                ('embedded_with', models.CharField(blank=True, help_text='The embedding model of its vector.', max_length=200)),
            ],
        ),
        migrations.AddField(
            model_name='output',
            name='chat',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='outputs', to='memorybank.chat'),
        ),
        migrations.AddField(
            model_name='factoutput',
            name='output',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='fact_links', to='memorybank.output'),
        ),
        migrations.AddField(
            model_name='fact',
            name='outputs',
            field=models.ManyToManyField(help_text="The turns that a leaf's fact cites.", related_name='facts', through='memorybank.FactOutput', to='memorybank.output'),
        ),
        migrations.AddField(
            model_name='answerrating',
            name='output',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='ratings', to='memorybank.output'),
        ),
        migrations.AddField(
            model_name='promptcount',
            name='bank',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='prompt_counts', to='memorybank.bank'),
        ),
        migrations.AddField(
            model_name='quotedchat',
            name='chat',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='quoted_in', to='memorybank.chat'),
        ),
        migrations.AddField(
            model_name='quotedchat',
            name='output',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='quoted_chats', to='memorybank.output'),
        ),
        migrations.AddField(
            model_name='storedblock',
            name='bank',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='blocks', to='memorybank.bank'),
        ),
        migrations.AddField(
            model_name='chat',
            name='kept_block',
            field=models.ForeignKey(blank=True, editable=False, help_text='The block of its last prompt, which it keeps while people write in it.', null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='kept_by', to='memorybank.storedblock'),
        ),
        migrations.AddIndex(
            model_name='bankday',
            index=models.Index(fields=['day'], name='bank_day_by_day'),
        ),
        migrations.AddConstraint(
            model_name='bankday',
            constraint=models.UniqueConstraint(fields=('bank', 'day'), name='bank_day_unique'),
        ),
        migrations.AddIndex(
            model_name='blocklineversion',
            index=models.Index(fields=['bank', 'until'], name='line_version_until'),
        ),
        migrations.AddIndex(
            model_name='blocklineversion',
            index=models.Index(fields=['bank', 'since'], name='line_version_since'),
        ),
        migrations.AddIndex(
            model_name='chatreader',
            index=models.Index(fields=['person', 'chat'], name='chat_reader_person'),
        ),
        migrations.AddConstraint(
            model_name='chatreader',
            constraint=models.UniqueConstraint(fields=('chat', 'person'), name='chat_reader_once'),
        ),
        migrations.AddConstraint(
            model_name='chatreader',
            constraint=models.CheckConstraint(condition=models.Q(('person', ''), _negated=True), name='chat_reader_not_empty'),
        ),
        migrations.AddIndex(
            model_name='checkpoint',
            index=models.Index(fields=['chat', 'through'], name='checkpoint_by_chat'),
        ),
        migrations.AddConstraint(
            model_name='checkpoint',
            constraint=models.CheckConstraint(condition=models.Q(('tokens_after__lt', models.F('tokens_before'))), name='checkpoint_gains'),
        ),
        migrations.AddConstraint(
            model_name='compaction',
            constraint=models.CheckConstraint(condition=models.Q(('percent__lte', 100)), name='compaction_percent'),
        ),
        migrations.AddIndex(
            model_name='erasure',
            index=models.Index(fields=['bank', 'subject'], name='erasure_of_subject'),
        ),
        migrations.AddConstraint(
            model_name='erasurerequest',
            constraint=models.CheckConstraint(condition=models.Q(('state', 'open'), models.Q(('closed_by', ''), _negated=True), _connector='OR'), name='erasure_request_closed'),
        ),
        migrations.AddConstraint(
            model_name='event',
            constraint=models.UniqueConstraint(fields=('bank', 'number'), name='event_place_unique'),
        ),
        migrations.AddIndex(
            model_name='factsource',
            index=models.Index(fields=['source'], name='fact_source_restated'),
        ),
        migrations.AddConstraint(
            model_name='factsource',
            constraint=models.UniqueConstraint(fields=('fact', 'source'), name='fact_rests_on_source_once'),
        ),
        migrations.AddConstraint(
            model_name='job',
            constraint=models.UniqueConstraint(condition=models.Q(('finished_at', None)), fields=('bank', 'kind'), name='job_open_once'),
        ),
        migrations.AddConstraint(
            model_name='keptfact',
            constraint=models.UniqueConstraint(fields=('entry', 'fact'), name='entry_keeps_fact_once'),
        ),
        migrations.AddIndex(
            model_name='entry',
            index=models.Index(condition=models.Q(('parent__isnull', True)), fields=['bank', 'period_start'], name='entry_frontier'),
        ),
        migrations.AddIndex(
            model_name='entry',
            index=models.Index(fields=['bank', 'granularity', 'period_start', 'tokens'], name='entry_growth'),
        ),
        migrations.AddIndex(
            model_name='entry',
            index=models.Index(condition=models.Q(('stale', True)), fields=['bank'], name='entry_stale'),
        ),
        migrations.AddConstraint(
            model_name='entry',
            constraint=models.UniqueConstraint(condition=models.Q(('granularity', 'conversation'), _negated=True), fields=('bank', 'granularity', 'period_start'), name='digest_unique_in_period'),
        ),
        migrations.AddConstraint(
            model_name='entry',
            constraint=models.UniqueConstraint(fields=('chat', 'first_output'), name='leaf_unique_in_chat'),
        ),
        migrations.AddConstraint(
            model_name='entry',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('chat__isnull', False), ('first_output__isnull', False), ('granularity', 'conversation'), ('last_output__gte', models.F('first_output'))), models.Q(models.Q(('granularity', 'conversation'), _negated=True), ('chat__isnull', True), ('first_output__isnull', True), ('last_output__isnull', True)), _connector='OR'), name='leaf_has_range'),
        ),
        migrations.AddConstraint(
            model_name='entry',
            constraint=models.CheckConstraint(condition=models.Q(('parent', models.F('id')), _negated=True), name='entry_not_own_parent'),
        ),
        migrations.AddIndex(
            model_name='llmcall',
            index=models.Index(fields=['bank', 'at'], name='llm_call_by_bank'),
        ),
        migrations.AddIndex(
            model_name='llmcall',
            index=models.Index(fields=['at'], name='llm_call_by_time'),
        ),
        migrations.AddConstraint(
            model_name='maskedvalue',
            constraint=models.UniqueConstraint(fields=('bank', 'digest'), name='masked_value_once'),
        ),
        migrations.AddConstraint(
            model_name='optout',
            constraint=models.UniqueConstraint(fields=('bank', 'author'), name='opt_out_once'),
        ),
        migrations.CreateModel(
            name='Embedding',
            fields=[
                ('document', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='embedding', serialize=False, to='memorybank.searchdocument')),
                ('model', models.CharField(max_length=200)),
                ('dims', models.PositiveIntegerField()),
                ('vector', models.BinaryField()),
            ],
        ),
        migrations.AddField(
            model_name='searchdocument',
            name='bank',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='documents', to='memorybank.bank'),
        ),
        migrations.AddField(
            model_name='searchdocument',
            name='chat',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='documents', to='memorybank.chat'),
        ),
        migrations.AddConstraint(
            model_name='output',
            constraint=models.UniqueConstraint(condition=models.Q(('key', ''), _negated=True), fields=('chat', 'key'), name='output_key_unique_in_chat'),
        ),
        migrations.AddConstraint(
            model_name='output',
            constraint=models.UniqueConstraint(fields=('chat', 'sequence'), name='output_sequence_unique_in_chat'),
        ),
        migrations.AddIndex(
            model_name='factoutput',
            index=models.Index(fields=['output'], name='fact_output_cited'),
        ),
        migrations.AddConstraint(
            model_name='factoutput',
            constraint=models.UniqueConstraint(fields=('fact', 'output'), name='fact_cites_output_once'),
        ),
        migrations.AddIndex(
            model_name='fact',
            index=models.Index(fields=['entry', 'position'], name='fact_in_entry'),
        ),
        migrations.AddIndex(
            model_name='fact',
            index=models.Index(fields=['bank', 'tier', '-worth', 'id'], name='fact_worth'),
        ),
        migrations.AddIndex(
            model_name='fact',
            index=models.Index(condition=models.Q(('kind', 'preference')), fields=['bank', 'speaker'], name='fact_preference'),
        ),
        migrations.AddIndex(
            model_name='fact',
            index=models.Index(condition=models.Q(('pinned', True)), fields=['bank'], name='fact_pinned'),
        ),
        migrations.AddIndex(
            model_name='fact',
            index=models.Index(condition=models.Q(('normative', True)), fields=['bank'], name='fact_normative'),
        ),
        migrations.AddIndex(
            model_name='fact',
            index=models.Index(condition=models.Q(('ongoing', True)), fields=['bank'], name='fact_ongoing'),
        ),
        migrations.AddIndex(
            model_name='fact',
            index=models.Index(condition=models.Q(('changing', True)), fields=['bank', 'said_on'], name='fact_changing'),
        ),
        migrations.AddConstraint(
            model_name='fact',
            constraint=models.CheckConstraint(condition=models.Q(('original', ''), models.Q(('edited_by', ''), _negated=True), _connector='OR'), name='fact_original_was_edited'),
        ),
        migrations.AddConstraint(
            model_name='answerrating',
            constraint=models.UniqueConstraint(fields=('output', 'person'), name='answer_rating_once'),
        ),
        migrations.AddIndex(
            model_name='promptcount',
            index=models.Index(fields=['day'], name='prompt_count_by_day'),
        ),
        migrations.AddConstraint(
            model_name='promptcount',
            constraint=models.UniqueConstraint(fields=('bank', 'day', 'memory'), name='prompt_count_unique'),
        ),
        migrations.AddConstraint(
            model_name='quotedchat',
            constraint=models.UniqueConstraint(fields=('output', 'chat'), name='output_quotes_chat_once'),
        ),
        migrations.AddConstraint(
            model_name='storedblock',
            constraint=models.UniqueConstraint(fields=('bank', 'version'), name='block_unique_in_version'),
        ),
        migrations.AddIndex(
            model_name='chat',
            index=models.Index(condition=models.Q(('due_at__isnull', False)), fields=['due_at'], name='chat_due'),
        ),
        migrations.AddIndex(
            model_name='chat',
            index=models.Index(condition=models.Q(('attempts', 0), ('due_at__isnull', False)), fields=['bank', 'due_at'], name='chat_untried_in_bank'),
        ),
        migrations.AddIndex(
            model_name='chat',
            index=models.Index(condition=models.Q(('parked_at__isnull', False)), fields=['bank'], name='chat_parked'),
        ),
        migrations.AddIndex(
            model_name='chat',
            index=models.Index(condition=models.Q(('index_due', True)), fields=['id'], name='chat_index_due'),
        ),
        migrations.AddConstraint(
            model_name='chat',
            constraint=models.UniqueConstraint(fields=('bank', 'key'), name='chat_key_unique_in_bank'),
        ),
        migrations.AddConstraint(
            model_name='chat',
            constraint=models.CheckConstraint(condition=models.Q(('key', ''), _negated=True), name='chat_key_not_empty'),
        ),
        migrations.AddField(
            model_name='embedding',
            name='bank',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='embeddings', to='memorybank.bank'),
        ),
        migrations.AddIndex(
            model_name='searchdocument',
            index=models.Index(fields=['chat'], name='document_by_chat'),
        ),
        migrations.AddIndex(
            model_name='searchdocument',
            index=models.Index(fields=['previous'], name='document_by_previous'),
        ),
        migrations.AddIndex(
            model_name='searchdocument',
            index=models.Index(fields=['embedded_with'], name='document_by_model'),
        ),
        migrations.AddIndex(
            model_name='embedding',
            index=models.Index(fields=['bank', 'model', 'dims'], name='embedding_by_bank'),
        ),
    ]
