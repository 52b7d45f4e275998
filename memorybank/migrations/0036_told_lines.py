"""What blocks have said, line by line with its times."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('memorybank', '0035_jobs'),
    ]

    operations = [
        migrations.CreateModel(
            name='ToldLine',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('since', models.DateTimeField()),
                ('until', models.DateTimeField(null=True)),
                ('text', models.TextField()),
                ('speaker', models.CharField(max_length=200)),
                ('label', models.CharField(help_text='The date that its paragraph opened with.', max_length=100)),
                ('period', models.CharField(max_length=40)),
                ('tier', models.PositiveSmallIntegerField()),
                ('pinned', models.BooleanField()),
                ('digest', models.BooleanField(help_text="Written for a digest, with others' words in sight.")),
                ('said_at', models.DateTimeField()),
                ('facts', models.JSONField(help_text='Ids of the facts that it stood for, and of those that it restated.')),
                ('chats', models.JSONField(help_text='Keys of the chats whose words it said.')),
                ('bank', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='told_lines', to='memorybank.bank')),
            ],
            options={
                'indexes': [models.Index(fields=['bank', 'until'], name='told_line_until'), models.Index(fields=['bank', 'since'], name='told_line_since')],
            },
        ),
    ]
