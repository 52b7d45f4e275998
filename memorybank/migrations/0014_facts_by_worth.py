"""Let rendering read the best facts of each tier, and how far history had grown, from indexes alone."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("memorybank", "0013_where_facts_stand")]

    operations = [
        migrations.AlterField(
            model_name='fact',
            name='bank',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='facts', to='memorybank.bank'),
        ),
        migrations.AddField(
            model_name='fact',
            name='worth',
            field=models.GeneratedField(db_persist=True, expression=models.F('weight') / (models.F('tokens') + 3), output_field=models.FloatField()),
        ),
        migrations.AddIndex(
            model_name='entry',
            index=models.Index(fields=['bank', 'granularity', 'period_start', 'tokens'], name='entry_growth'),
        ),
        migrations.AddIndex(
            model_name='fact',
            index=models.Index(fields=['bank', 'tier', '-worth', 'id'], name='fact_worth'),
        ),
        migrations.AddIndex(
            model_name='fact',
            index=models.Index(condition=models.Q(('pinned', True)), fields=['bank'], name='fact_pinned'),
        ),
    ]
