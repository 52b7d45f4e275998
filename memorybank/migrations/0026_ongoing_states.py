"""A fact knows whether it says that something is so for now, so that what ends can be found."""


from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('memorybank', '0025_vitals'),
    ]

    operations = [
        migrations.AddField(
            model_name='fact',
            name='ongoing',
            field=models.BooleanField(default=False, editable=False, help_text='It says that something is so for now; a newer one may end it.'),
        ),
        migrations.AddIndex(
            model_name='fact',
            index=models.Index(condition=models.Q(('ongoing', True)), fields=['bank'], name='fact_ongoing'),
        ),
    ]
