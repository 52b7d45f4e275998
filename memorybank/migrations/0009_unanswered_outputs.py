"""Keep a message before it is answered: whether an answer is awaited, since when, and why there is none."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("memorybank", "0008_who_read_turns")]

    operations = [
        migrations.AlterField(
            model_name='output',
            name='status',
            field=models.CharField(choices=[('ok', 'OK'), ('error', 'Error'), ('blocked', 'Blocked'), ('cancelled', 'Cancelled'), ('stopped', 'Stopped'), ('pending', 'Pending')], default='ok', max_length=10),
        ),
        migrations.AlterField(
            model_name='output',
            name='created_at',
            field=models.DateTimeField(help_text='When it was asked first.'),
        ),
        migrations.AddField(
            model_name='output',
            name='asked_at',
            field=models.DateTimeField(blank=True, help_text='When it was last asked, while it is not ok: tells attempts apart.', null=True),
        ),
        migrations.AddField(
            model_name='output',
            name='error',
            field=models.CharField(blank=True, default='', help_text="Why there is no answer, in the model's words.", max_length=500),
            preserve_default=False,
        ),
    ]
