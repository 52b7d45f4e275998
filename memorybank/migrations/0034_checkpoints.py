"""What stands in a prompt for the earlier turns of a chat, and how far somebody is with making one."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('memorybank', '0033_append_only'),
    ]

    operations = [
        migrations.AlterField(
            model_name='llmcall',
            name='purpose',
            field=models.CharField(choices=[('summary', 'Summary'), ('chunk', 'Chunk'), ('merge', 'Merge'), ('digest', 'Digest'), ('chat', 'Chat'), ('compact', 'Compact'), ('embedding', 'Embedding')], max_length=10),
        ),
        migrations.CreateModel(
            name='Checkpoint',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('through', models.PositiveBigIntegerField(help_text='The last output that it stands for.')),
                ('notes', models.JSONField(default=list)),
                ('text', models.TextField()),
                ('tokens_before', models.PositiveIntegerField(help_text='What the chat was in a prompt, without system and memory.')),
                ('tokens_after', models.PositiveIntegerField(help_text='What it was then, with the turns that were kept.')),
                ('method', models.CharField(max_length=200)),
                ('made_at', models.DateTimeField()),
                ('chat', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='checkpoints', to='memorybank.chat')),
            ],
            options={
                'indexes': [models.Index(fields=['chat', 'through'], name='checkpoint_by_chat')],
                'constraints': [models.CheckConstraint(condition=models.Q(('tokens_after__lt', models.F('tokens_before'))), name='checkpoint_gains')],
            },
        ),
        migrations.CreateModel(
            name='Compaction',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('leased_until', models.DateTimeField(blank=True, editable=False, null=True)),
                ('lease_token', models.CharField(blank=True, editable=False, max_length=32)),
                ('percent', models.PositiveSmallIntegerField(default=0)),
                ('stage', models.CharField(choices=[('load', 'reading the chat'), ('strategy', 'planning'), ('parts', 'taking notes'), ('merged', 'putting the notes together'), ('written', 'written')], default='load', max_length=10)),
                ('done', models.PositiveIntegerField(default=0, help_text='Parts that are read.')),
                ('of', models.PositiveIntegerField(default=0, help_text='Parts that there are.')),
                ('failures', models.PositiveIntegerField(default=0)),
                ('retry_at', models.DateTimeField(blank=True, help_text='Not tried again unasked before.', null=True)),
                ('error', models.CharField(blank=True, max_length=500)),
                ('chat', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='compaction', to='memorybank.chat')),
            ],
            options={
                'constraints': [models.CheckConstraint(condition=models.Q(('percent__lte', 100)), name='compaction_percent')],
            },
        ),
    ]
