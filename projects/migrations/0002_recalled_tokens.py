"""Count the notes recalled for a message apart from the block."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("projects", "0001_initial")]

    operations = [
        migrations.AddField(
            model_name="givenwith",
            name="recalled_tokens",
            field=models.PositiveIntegerField(default=0, help_text="Tokens of the notes beside the message."),
        ),
        migrations.AlterField(
            model_name="givenwith",
            name="memory_tokens",
            field=models.PositiveIntegerField(help_text="Tokens of the block."),
        ),
        migrations.AlterField(
            model_name="givenwith",
            name="memory_version",
            field=models.PositiveBigIntegerField(help_text="Which stored block; 0: none."),
        ),
    ]
