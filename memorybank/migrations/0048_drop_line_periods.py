"""Drop the key of a line's period, which its first day and its tier say."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("memorybank", "0047_lines_by_field")]

    operations = [
        migrations.AlterField("BlockLineVersion", "period_start", models.DateField()),
        migrations.RemoveField("BlockLineVersion", "period"),
    ]
