import django.core.serializers.json
import django.core.validators
import django.db.models.deletion
import secrets
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('memorybank', '0001_initial'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Draft',
            fields=[
                ('output', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='draft', serialize=False, to='memorybank.output')),
                ('text', models.TextField(blank=True)),
                ('saved_at', models.DateTimeField(help_text='When its process was last heard of.')),
                ('stopping', models.BooleanField(default=False, help_text='A member asked to stop it.')),
            ],
        ),
        migrations.CreateModel(
            name='AttemptCounter',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('key', models.CharField(max_length=64, unique=True)),
                ('count', models.PositiveIntegerField(default=0)),
                ('last', models.DateTimeField(db_index=True)),
            ],
        ),
        migrations.CreateModel(
            name='Tenant',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('slug', models.CharField(max_length=64, unique=True, validators=[django.core.validators.RegexValidator('^[a-z0-9](?:[a-z0-9_-]{0,62}[a-z0-9])?$', 'Use lower-case letters, digits, dashes and underscores, at most 64, beginning and ending with a letter or digit.')])),
                ('name', models.CharField(max_length=200)),
                ('monthly_cap', models.DecimalField(blank=True, decimal_places=2, help_text='Monthly limit (UTC) for the memory of all its projects, in the currency of your price settings. Leave empty for none. When it is reached, memory falls back to extraction and is regenerated later.', max_digits=12, null=True, validators=[django.core.validators.MinValueValidator(0)])),
            ],
            options={
                'ordering': ['slug'],
            },
        ),
        migrations.CreateModel(
            name='AnswerContext',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('memory_version', models.PositiveBigIntegerField(help_text='Which stored block; 0: none.')),
                ('memory_tokens', models.PositiveIntegerField(help_text='Tokens of the block.')),
                ('recalled_tokens', models.PositiveIntegerField(default=0, help_text='Tokens of the notes beside the message.')),
                ('lines', models.JSONField(default=list, help_text='Of each line of the block the ids of the facts it stood for.')),
                ('recalled', models.JSONField(default=list, help_text='Of each note its turn, by id, and the place in it.')),
                ('personal', models.JSONField(default=list, help_text='Of each line for the asker alone the id of its fact.')),
                ('cited', models.JSONField(default=list, help_text='Where its sentences end that use a line, and which of all lines.')),
                ('model', models.CharField(blank=True, help_text='The model that answered.', max_length=200)),
                ('prompt_tokens', models.PositiveIntegerField()),
                ('answer_tokens', models.PositiveIntegerField(default=0)),
                ('stopped', models.BooleanField(default=False, help_text='It was stopped; its text is the part received by then.')),
                ('output', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='answer_context', to='memorybank.output')),
            ],
        ),
        migrations.CreateModel(
            name='Conversation',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('shared_at', models.DateTimeField(blank=True, help_text='Since when members of the project may read it; empty: they may not.', null=True)),
                ('chat', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='conversation', to='memorybank.chat')),
                ('owner', models.ForeignKey(help_text='Empty: the account has been deleted.', null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='conversations', to=settings.AUTH_USER_MODEL)),
            ],
        ),
        migrations.CreateModel(
            name='Membership',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('role', models.CharField(choices=[('owner', 'Owner'), ('admin', 'Admin'), ('member', 'Member'), ('viewer', 'Viewer')], default='member', max_length=10)),
                ('person', models.CharField(default=secrets.token_hex, editable=False, max_length=64, unique=True)),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='memberships', to=settings.AUTH_USER_MODEL)),
                ('tenant', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='memberships', to='projects.tenant')),
            ],
        ),
        migrations.CreateModel(
            name='Project',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('slug', models.CharField(max_length=64, validators=[django.core.validators.RegexValidator('^[a-z0-9](?:[a-z0-9_-]{0,62}[a-z0-9])?$', 'Use lower-case letters, digits, dashes and underscores, at most 64, beginning and ending with a letter or digit.')])),
                ('name', models.CharField(max_length=200)),
                ('system_prompt', models.TextField(blank=True, help_text='Comes first in every prompt of this project.')),
                ('members_only', models.BooleanField(default=False, help_text='Open to those who are named, not to the whole tenant.')),
                ('bank', models.OneToOneField(editable=False, on_delete=django.db.models.deletion.CASCADE, related_name='project', to='memorybank.bank')),
                ('named', models.ManyToManyField(blank=True, related_name='projects', to='projects.membership')),
                ('tenant', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='projects', to='projects.tenant')),
            ],
            options={
                'ordering': ['tenant__slug', 'slug'],
            },
        ),
        migrations.CreateModel(
            name='ImportRun',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('format', models.CharField(max_length=20)),
                ('file', models.CharField(max_length=200)),
                ('created_by', models.CharField(max_length=200)),
                ('created_at', models.DateTimeField()),
                ('report', models.JSONField(default=dict, help_text='What the dry run counted; empty while the file is being read.')),
                ('audience', models.CharField(blank=True, max_length=10)),
                ('authors', models.JSONField(default=dict, help_text='A person of the export → the member whose chats they become.')),
                ('total', models.PositiveIntegerField(default=0, help_text='Conversations to import.')),
                ('done', models.PositiveIntegerField(default=0)),
                ('recorded', models.PositiveIntegerField(default=0, help_text='New turns.')),
                ('known', models.PositiveIntegerField(default=0, help_text='Turns that were there already.')),
                ('bad', models.PositiveIntegerField(default=0, help_text='What was left out, of which the first are named.')),
                ('reasons', models.JSONField(default=list)),
                ('started_at', models.DateTimeField(null=True)),
                ('finished_at', models.DateTimeField(null=True)),
                ('claimed_until', models.DateTimeField(help_text='Until when a worker is believed to be at it.', null=True)),
                ('project', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='import_runs', to='projects.project')),
            ],
        ),
        migrations.CreateModel(
            name='APIKey',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=200)),
                ('prefix', models.CharField(editable=False, max_length=12)),
                ('digest', models.CharField(editable=False, max_length=64, unique=True)),
                ('scopes', models.JSONField(default=list)),
                ('name_sources', models.CharField(blank=True, default='memory,front_end,body', help_text='Separated by commas.', max_length=100)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('expires_at', models.DateTimeField(blank=True, null=True)),
                ('revoked_at', models.DateTimeField(blank=True, null=True)),
                ('last_used_at', models.DateTimeField(editable=False, help_text='Its first request in its last minute.', null=True)),
                ('taken', models.PositiveIntegerField(default=0, editable=False, help_text="Requests taken of that minute's.")),
                ('project', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='api_keys', to='projects.project')),
            ],
            options={
                'verbose_name': 'API key',
            },
        ),
        migrations.CreateModel(
            name='TenantAuditLog',
            fields=[
                ('length', models.PositiveBigIntegerField(default=0)),
                ('seal', models.CharField(blank=True, max_length=64)),
                ('end_seal', models.CharField(blank=True, help_text='HMAC of length and seal: without the key no log can be cut short.', max_length=64)),
                ('tenant', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='audit_log', serialize=False, to='projects.tenant')),
            ],
            options={
                'abstract': False,
            },
        ),
        migrations.CreateModel(
            name='Invitation',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('email', models.EmailField(max_length=254)),
                ('role', models.CharField(choices=[('owner', 'Owner'), ('admin', 'Admin'), ('member', 'Member'), ('viewer', 'Viewer')], default='member', max_length=10)),
                ('sent_at', models.DateTimeField()),
                ('invited_by', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('tenant', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='invitations', to='projects.tenant')),
            ],
        ),
        migrations.CreateModel(
            name='TenantEvent',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveBigIntegerField(editable=False, help_text='Its position in the audit log, from 1.')),
                ('seal', models.CharField(editable=False, help_text='HMAC of the event and of the seal before.', max_length=64)),
                ('actor', models.CharField(max_length=200)),
                ('detail', models.JSONField(blank=True, default=dict, encoder=django.core.serializers.json.DjangoJSONEncoder)),
                ('at', models.DateTimeField()),
                ('action', models.CharField(choices=[('create', 'Create'), ('change', 'Change'), ('invite', 'Invite'), ('withdraw', 'Withdraw'), ('join', 'Join'), ('add', 'Add'), ('role', 'Role'), ('remove', 'Remove'), ('open', 'Open a project'), ('delete', 'Delete a project'), ('issue', 'Issue a key'), ('revoke', 'Revoke a key'), ('hook', 'Add or change a webhook'), ('import', 'Import chats'), ('share', 'Share a chat to read'), ('unshare', 'Stop sharing a chat'), ('unhook', 'Delete a webhook')], max_length=20)),
                ('tenant', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='events', to='projects.tenant')),
            ],
            options={
                'ordering': ['-pk'],
                'abstract': False,
            },
        ),
        migrations.CreateModel(
            name='Upstream',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('protocol', models.CharField(choices=[('openai', 'OpenAI: chat completions, responses, embeddings'), ('anthropic', 'Anthropic: messages')], max_length=10)),
                ('base_url', models.CharField(help_text='As a client of that protocol takes it, such as https://api.openai.com/v1.', max_length=500, validators=[django.core.validators.RegexValidator('^https?://[^/\\s?#]+[^\\s?#]*$', 'An address such as https://api.openai.com/v1.')])),
                ('sealed_key', models.TextField(blank=True, editable=False)),
                ('allowed', models.TextField(blank=True, help_text='Models that may be asked, one a line; empty: all.')),
                ('passed_headers', models.TextField(blank=True, db_default='', help_text='Headers of a program that are sent on besides those of the protocol, one a line.')),
                ('passed_paths', models.TextField(blank=True, db_default='', help_text='Addresses that are passed on without memory, one a line: completions, moderations, …')),
                ('project', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='upstreams', to='projects.project')),
            ],
        ),
        migrations.CreateModel(
            name='UpstreamObject',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('digest', models.CharField(max_length=64, unique=True)),
                ('bank', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='upstream_objects', to='memorybank.bank')),
                ('chat', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='upstream_objects', to='memorybank.chat')),
                ('output', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='upstream_objects', to='memorybank.output')),
                ('at', models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('chat', None)), fields=['at'], name='upstream_object_without_chat')],
            },
        ),
        migrations.CreateModel(
            name='WaitingConversation',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('content', models.JSONField(help_text='As it was read; empty once it is imported.', null=True)),
                ('chat_key', models.CharField(blank=True, max_length=200)),
                ('run', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='conversations', to='projects.importrun')),
            ],
        ),
        migrations.CreateModel(
            name='Webhook',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('url', models.CharField(max_length=500)),
                ('encrypted_secret', models.TextField(editable=False)),
                ('events', models.JSONField(default=list, help_text='The events that are sent; empty: all.')),
                ('created_by', models.CharField(max_length=200)),
                ('created_at', models.DateTimeField()),
                ('disabled_at', models.DateTimeField(blank=True, null=True)),
                ('dropped', models.PositiveIntegerField(default=0, help_text='Events not sent, because too many were waiting.')),
                ('project', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='webhooks', to='projects.project')),
            ],
        ),
        migrations.CreateModel(
            name='Delivery',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('event', models.CharField(help_text='A change of memory, as hooks name it.', max_length=20)),
                ('subject', models.PositiveBigIntegerField(help_text='The id of the entry, fact, receipt or chat.')),
                ('created_at', models.DateTimeField()),
                ('due_at', models.DateTimeField(help_text='When to send it; empty: it was sent, or given up.', null=True)),
                ('attempts', models.PositiveSmallIntegerField(default=0)),
                ('delivered_at', models.DateTimeField(null=True)),
                ('status', models.PositiveSmallIntegerField(help_text='The HTTP status of the last attempt.', null=True)),
                ('error', models.CharField(blank=True, help_text='Why the last attempt got no answer.', max_length=100)),
                ('webhook', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='deliveries', to='projects.webhook')),
            ],
            options={
                'verbose_name_plural': 'deliveries',
            },
        ),
        migrations.CreateModel(
            name='ConversationNode',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('before', models.CharField(max_length=64)),
                ('after', models.CharField(max_length=64)),
                ('tail', models.CharField(blank=True, max_length=64)),
                ('notes', models.JSONField(default=list, help_text='Of each note given beside the question here its turn, by id, and the place in it.')),
                ('chat', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='conversation_nodes', to='memorybank.chat')),
                ('key', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='projects.apikey')),
                ('output', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='conversation_nodes', to='memorybank.output')),
            ],
            options={
                'indexes': [models.Index(fields=['after'], name='conversation_node_after'), models.Index(fields=['tail'], name='conversation_node_tail')],
                'constraints': [models.UniqueConstraint(fields=('output', 'after'), name='conversation_node_unique_in_output')],
            },
        ),
        migrations.CreateModel(
            name='IdempotencyRecord',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(help_text='Of the header Idempotency-Key.', max_length=64)),
                ('position', models.PositiveIntegerField()),
                ('body', models.CharField(max_length=64)),
                ('at', models.DateTimeField(db_index=True)),
                ('api_key', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='projects.apikey')),
                ('output', models.ForeignKey(help_text='Empty: it was known before, or is not taken in.', null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='memorybank.output')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('api_key', 'name', 'position'), name='idempotency_record_once')],
            },
        ),
        migrations.AddIndex(
            model_name='importrun',
            index=models.Index(condition=models.Q(('finished_at__isnull', True), ('started_at__isnull', False)), fields=['started_at'], name='import_run_open'),
        ),
        migrations.AddConstraint(
            model_name='apikey',
            constraint=models.CheckConstraint(condition=models.Q(('digest', ''), _negated=True), name='api_key_hashed'),
        ),
        migrations.AddConstraint(
            model_name='project',
            constraint=models.UniqueConstraint(fields=('tenant', 'slug'), name='project_slug_unique_in_tenant'),
        ),
        migrations.AddConstraint(
            model_name='membership',
            constraint=models.UniqueConstraint(fields=('tenant', 'user'), name='membership_unique'),
        ),
        migrations.AddConstraint(
            model_name='invitation',
            constraint=models.UniqueConstraint(fields=('tenant', 'email'), name='invitation_unique'),
        ),
        migrations.AddConstraint(
            model_name='tenantevent',
            constraint=models.UniqueConstraint(fields=('tenant', 'number'), name='tenant_event_place_unique'),
        ),
        migrations.AddConstraint(
            model_name='upstream',
            constraint=models.UniqueConstraint(fields=('project', 'protocol'), name='upstream_unique_in_project'),
        ),
        migrations.AddIndex(
            model_name='waitingconversation',
            index=models.Index(condition=models.Q(('chat_key', '')), fields=['run', 'id'], name='conversation_waiting'),
        ),
        migrations.AddIndex(
            model_name='delivery',
            index=models.Index(condition=models.Q(('due_at__isnull', False)), fields=['due_at'], name='delivery_due'),
        ),
    ]
