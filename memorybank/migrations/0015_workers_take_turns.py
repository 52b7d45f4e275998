"""Let workers take the next due chat themselves: banks stand in line, and rest between two settlings."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("memorybank", "0014_facts_by_worth")]

    operations = [
        migrations.AddField(
            model_name='bank',
            name='settled_at',
            field=models.DateTimeField(blank=True, editable=False, help_text='Workers give it a rest.', null=True),
        ),
        migrations.AddField(
            model_name='bank',
            name='turn',
            field=models.PositiveBigIntegerField(blank=True, editable=False, help_text='Its place in line for the workers; empty: not in it.', null=True),
        ),
        migrations.AddIndex(
            model_name='bank',
            index=models.Index(condition=models.Q(('turn__isnull', False)), fields=['turn'], name='bank_in_line'),
        ),
        migrations.AddIndex(
            model_name='chat',
            index=models.Index(condition=models.Q(('attempts', 0), ('due_at__isnull', False)), fields=['bank', 'due_at'], name='chat_untried_in_bank'),
        ),
    ]
