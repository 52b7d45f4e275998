"""What a day of a bank was like: for the curves of the board."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('memorybank', '0036_told_lines'),
    ]

    operations = [
        migrations.CreateModel(
            name='BankDay',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('day', models.DateField()),
                ('due', models.PositiveIntegerField(default=0)),
                ('block_tokens', models.PositiveIntegerField(default=0)),
                ('budget', models.PositiveIntegerField(default=0, help_text='0: no block was stored on that day.')),
                ('bank', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='days', to='memorybank.bank')),
            ],
            options={
                'indexes': [models.Index(fields=['day'], name='bank_day_by_day')],
                'constraints': [models.UniqueConstraint(fields=('bank', 'day'), name='bank_day_unique')],
            },
        ),
    ]
