"""Who is left out, what is kept for how long, and what somebody asked in a chat to have forgotten."""

import django.core.validators
import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('memorybank', '0028_spending'),
    ]

    operations = [
        migrations.CreateModel(
            name='ErasureRequest',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('asked_in', models.PositiveBigIntegerField(db_index=True, help_text='The turn in which it was asked.')),
                ('author', models.CharField(max_length=200)),
                ('outputs', models.JSONField(help_text='Ids of the turns that are meant, that one among them.')),
                ('facts', models.JSONField(default=list, help_text='Ids of the facts that were hidden for it.')),
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
            name='OptOut',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('author', models.CharField(max_length=200)),
                ('until', models.DateTimeField(blank=True, null=True)),
            ],
        ),
        migrations.AddField(
            model_name='bank',
            name='expire_at',
            field=models.DateTimeField(blank=True, editable=False, help_text='When something may be too old.', null=True),
        ),
        migrations.AddField(
            model_name='bank',
            name='keep_memory_days',
            field=models.PositiveIntegerField(blank=True, help_text='After so many days what memory holds of a day is deleted, whatever was made of it; empty: never.', null=True, validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(36500)], verbose_name='days to keep memory'),
        ),
        migrations.AddField(
            model_name='bank',
            name='keep_turns_days',
            field=models.PositiveIntegerField(blank=True, help_text='After so many days the words of a turn are deleted; empty: never.', null=True, validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(36500)], verbose_name='days to keep turns'),
        ),
        migrations.AddField(
            model_name='bank',
            name='remembers_since',
            field=models.DateTimeField(blank=True, editable=False, help_text='Of what was said before, memory takes no word.', null=True),
        ),
        migrations.AddField(
            model_name='output',
            name='withheld',
            field=models.BooleanField(default=False, help_text='Its author asked to forget it; memory has no word of it.'),
        ),
        migrations.AlterField(
            model_name='event',
            name='action',
            field=models.CharField(choices=[('enable', 'Enable'), ('disable', 'Disable'), ('configure', 'Configure'), ('pin', 'Pin'), ('unpin', 'Unpin'), ('add', 'Add'), ('edit', 'Edit'), ('hide', 'Hide'), ('show', 'Show'), ('release', 'Release'), ('keep', 'Keep back'), ('erase', 'Erase'), ('export', 'Export'), ('read', 'Read'), ('retry', 'Retry'), ('private', 'Private'), ('public', 'Public'), ('ask', 'Ask to forget'), ('restore', 'Restore'), ('opt_out', 'Opt out'), ('opt_in', 'Opt in')], max_length=20),
        ),
        migrations.AddIndex(
            model_name='bank',
            index=models.Index(condition=models.Q(('expire_at__isnull', False)), fields=['expire_at'], name='bank_expiring'),
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
            model_name='optout',
            name='bank',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='opt_outs', to='memorybank.bank'),
        ),
        migrations.AddConstraint(
            model_name='erasurerequest',
            constraint=models.CheckConstraint(condition=models.Q(('state', 'open'), models.Q(('closed_by', ''), _negated=True), _connector='OR'), name='erasure_request_closed'),
        ),
        migrations.AddConstraint(
            model_name='optout',
            constraint=models.UniqueConstraint(fields=('bank', 'author'), name='opt_out_once'),
        ),
    ]
