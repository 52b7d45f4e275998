"""Which facts and turns an answer was given with, by their ids."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('projects', '0009_gateway'),
    ]

    operations = [
        migrations.AddField(
            model_name='givenwith',
            name='lines',
            field=models.JSONField(default=list, help_text='Of each line of the block the ids of the facts it stood for.'),
        ),
        migrations.AddField(
            model_name='givenwith',
            name='recalled',
            field=models.JSONField(default=list, help_text='Of each note its turn, by id, and the place in it.'),
        ),
    ]
