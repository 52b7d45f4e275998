"""Which turns were said while memory was off, and are no part of it."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('memorybank', '0037_bank_days'),
    ]

    operations = [
        migrations.AddField(
            model_name='bank',
            name='off_after',
            field=models.PositiveBigIntegerField(default=0, editable=False, help_text='While it is off: the last turn that was said while it was on.'),
        ),
        migrations.AddField(
            model_name='output',
            name='left_out',
            field=models.BooleanField(default=False, help_text='It was said before memory was switched on, which took nothing in of then.'),
        ),
    ]
