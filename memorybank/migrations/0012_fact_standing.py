"""Give a fact its bank and its tier; empty until the next migration fills them."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("memorybank", "0011_references_instead_of_copies")]

    operations = [
        migrations.AddField(
            model_name='fact',
            name='bank',
            field=models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='facts', to='memorybank.bank'),
        ),
        migrations.AddField(
            model_name='fact',
            name='tier',
            field=models.PositiveSmallIntegerField(editable=False, help_text="That of the live entry above it; empty: a digest's that was absorbed.", null=True),
        ),
    ]
