"""Private chats have readers; answers may quote what is private; banks have a budget for one person and a default."""

import django.core.validators
import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('memorybank', '0007_keyed_seals'),
    ]

    operations = [
        migrations.CreateModel(
            name='ChatReader',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('person', models.CharField(max_length=200)),
            ],
        ),
        migrations.AddField(
            model_name='bank',
            name='new_chats_private',
            field=models.BooleanField(default=False, help_text='What is said in a new chat is remembered for its author only, until they share it.', verbose_name='new chats are private'),
        ),
        migrations.AddField(
            model_name='bank',
            name='personal_tokens',
            field=models.PositiveIntegerField(default=200, help_text='Tokens of what is for the asking person only, at most 8,000; 0: none.', validators=[django.core.validators.MaxValueValidator(8000)], verbose_name='personal budget'),
        ),
        migrations.AlterField(
            model_name='chat',
            name='private',
            field=models.BooleanField(default=False, help_text='Its memory is for its readers only; without readers nothing is made of it.'),
        ),
        migrations.AlterField(
            model_name='fact',
            name='tier',
            field=models.PositiveSmallIntegerField(editable=False, help_text='The tier of the live entry above it; empty for absorbed lines that no person decided on, and for facts of private chats.', null=True),
        ),
        migrations.AddConstraint(
            model_name='bank',
            constraint=models.CheckConstraint(condition=models.Q(('personal_tokens__lte', 8000)), name='bank_personal_within_limits'),
        ),
        migrations.AddField(
            model_name='chatreader',
            name='chat',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='readers', to='memorybank.chat'),
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
        migrations.AddField(
            model_name="output",
            name="quotes_private",
            field=models.BooleanField(
                default=False,
                editable=False,
                help_text="Its answer has words of memory that not everybody may read; "
                "a private chat of one reader uses it.",
            ),
        ),
        migrations.AddIndex(
            model_name="fact",
            index=models.Index(
                condition=models.Q(("kind", "preference")), fields=["bank", "speaker"], name="fact_preference"
            ),
        ),
        migrations.AddField(
            model_name="chat",
            name="quoted_words",
            field=models.JSONField(
                default=list,
                editable=False,
                help_text="Keyed hashes of the words that its answers quoted from memory that not everybody may read.",
            ),
        ),
    ]
