"""Let reports count parked chats without reading the others."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("memorybank", "0003_index_what_is_there")]

    operations = [
        migrations.AddIndex(
            model_name='chat',
            index=models.Index(condition=models.Q(('parked_at__isnull', False)), fields=['bank'], name='chat_parked'),
        ),
    ]
