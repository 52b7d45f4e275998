"""Receipts of lines: an erasure may name the lines whose turns go."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('memorybank', '0029_left_out'),
    ]

    operations = [
        migrations.AlterField(
            model_name='erasure',
            name='counts',
            field=models.JSONField(help_text='How much went, and what is made anew; nothing: it went with a line.'),
        ),
        migrations.AlterField(
            model_name='erasure',
            name='kind',
            field=models.CharField(choices=[('chat', 'Chat'), ('author', 'Author'), ('output', 'turn'), ('line', 'Line'), ('everything', 'Everything')], max_length=10),
        ),
    ]
