"""What a person asked the workers to do now, and how far they are."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ('memorybank', '0034_checkpoints'),
    ]

    operations = [
        migrations.AlterField(
            model_name='event',
            name='action',
            field=models.CharField(choices=[('enable', 'Enable'), ('disable', 'Disable'), ('configure', 'Configure'), ('pin', 'Pin'), ('unpin', 'Unpin'), ('add', 'Add'), ('edit', 'Edit'), ('hide', 'Hide'), ('show', 'Show'), ('release', 'Release'), ('keep', 'Keep back'), ('erase', 'Erase'), ('export', 'Export'), ('read', 'Read'), ('retry', 'Retry'), ('summarise', 'Summarise'), ('compress', 'Compress'), ('rebuild', 'Rebuild'), ('private', 'Private'), ('public', 'Public'), ('ask', 'Ask to forget'), ('restore', 'Restore'), ('opt_out', 'Opt out'), ('opt_in', 'Opt in')], max_length=20),
        ),
        migrations.CreateModel(
            name='Job',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('summarise', 'Summarise now'), ('compress', 'Compress now'), ('rebuild', 'Rebuild'), ('retry', 'Retry parked')], max_length=10)),
                ('asked_by', models.CharField(max_length=200)),
                ('asked_at', models.DateTimeField()),
                ('total', models.PositiveBigIntegerField(default=0, help_text='Chats, tokens too many, or digests, at the beginning.')),
                ('percent', models.PositiveSmallIntegerField(default=0, help_text='It never goes back.')),
                ('finished_at', models.DateTimeField(blank=True, null=True)),
                ('bank', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='jobs', to='memorybank.bank')),
            ],
            options={
                'ordering': ['-pk'],
                'constraints': [models.UniqueConstraint(condition=models.Q(('finished_at', None)), fields=('bank', 'kind'), name='job_open_once')],
            },
        ),
    ]
