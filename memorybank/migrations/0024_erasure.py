"""Receipts of erasures, and which summaries are to be made anew after one."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('memorybank', '0023_by_hand'),
    ]

    operations = [
        migrations.CreateModel(
            name='Erasure',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('chat', 'Chat'), ('author', 'Author'), ('output', 'turn'), ('everything', 'Everything')], max_length=10)),
                ('subject', models.CharField(help_text='What was erased, as a keyed hash.', max_length=40)),
                ('asked_by', models.CharField(max_length=200)),
                ('epoch', models.PositiveIntegerField(help_text='Work begun before this epoch writes nothing.')),
                ('counts', models.JSONField(help_text='How much went, and what is made anew.')),
                ('at', models.DateTimeField()),
                ('bank', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='erasures', to='memorybank.bank')),
            ],
            options={
                'ordering': ['-pk'],
            },
        ),
        migrations.AddField(
            model_name='chat',
            name='stale',
            field=models.BooleanField(default=False, editable=False, help_text='A summary of it is to be made anew.'),
        ),
        migrations.AddField(
            model_name='entry',
            name='stale',
            field=models.BooleanField(default=False, help_text='Lost lines to an erasure; to be made anew from what is left.'),
        ),
        migrations.AddIndex(
            model_name='entry',
            index=models.Index(condition=models.Q(('stale', True)), fields=['bank'], name='entry_stale'),
        ),
        migrations.AddIndex(
            model_name='erasure',
            index=models.Index(fields=['bank', 'subject'], name='erasure_of_subject'),
        ),
    ]
