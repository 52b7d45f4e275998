"""Which turns give way to one as soon as it is answered."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('memorybank', '0041_prompts_aside'),
    ]

    operations = [
        migrations.AddField(
            model_name='output',
            name='replaces',
            field=models.JSONField(blank=True, default=list, help_text='Ids of outputs of its chat whose place it takes when it is answered.'),
        ),
    ]
