from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('memorybank', '0005_output_metadata'),
    ]

    operations = [
        migrations.AlterField(
            model_name='promptcount',
            name='memory',
            field=models.CharField(choices=[('given', 'Given'), ('off', 'memory is off'), ('nothing', 'nothing is remembered yet'), ('aside', 'it was no message of a chat'), ('failed', 'memory failed, and the answer came without it'), ('slow', 'the database did not answer in time, and the answer came without memory')], max_length=10),
        ),
    ]
