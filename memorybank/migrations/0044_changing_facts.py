"""A fact knows whether it says that something is over, so that what is written down late can give way to it."""


from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('memorybank', '0043_index_anew_by_speaker'),
    ]

    operations = [
        migrations.AddField(
            model_name='fact',
            name='changing',
            field=models.BooleanField(default=False, editable=False, help_text='It says that something is over; what was said before may give way.'),
        ),
        migrations.AddIndex(
            model_name='fact',
            index=models.Index(condition=models.Q(('changing', True)), fields=['bank', 'said_on'], name='fact_changing'),
        ),
    ]
