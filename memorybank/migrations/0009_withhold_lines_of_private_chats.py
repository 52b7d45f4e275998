"""Withhold lines of private chats from the history of the block, instead of deleting them."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('memorybank', '0008_objections'),
    ]

    operations = [
        migrations.AddField(
            model_name='blocklineversion',
            name='withheld_for',
            field=models.JSONField(db_default=models.Value([], models.JSONField()), default=list, help_text='Keys of private chats: nobody reads the line until all of them are shared again.'),
        ),
    ]
