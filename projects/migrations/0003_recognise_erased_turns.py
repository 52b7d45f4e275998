"""Keep what recognises a repeated request, also after its output is erased."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('memorybank', '0006_recognise_erased_turns'),
        ('projects', '0002_append_only'),
    ]

    operations = [
        migrations.AlterField(
            model_name='idempotencyrecord',
            name='output',
            field=models.ForeignKey(help_text='Empty: it was known before, was not taken in, or has been erased.', null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='memorybank.output'),
        ),
    ]
