"""The file broker: a reader and a writer at once."""

import threading
from contextlib import closing
from pathlib import Path

from kombu import Connection

from tests.support.commands import PROCESS_TIMEOUT_SECONDS


def test_no_reader_of_the_file_broker_meets_half_a_message(tmp_path: Path) -> None:
    folders = dict.fromkeys(("data_folder_in", "data_folder_out", "control_folder"), str(tmp_path))
    broker = {"hostname": "filesystem://", "transport": "config.file_broker.Transport", "transport_options": folders}
    text, sent = "harbour crane " * 10_000, range(200)

    def send() -> None:
        with Connection(**broker) as connection, closing(connection.SimpleQueue("queue")) as queue:
            for number in sent:
                queue.put({"number": number, "said": text})

    with Connection(**broker) as connection, closing(connection.SimpleQueue("queue")) as queue:
        writer = threading.Thread(target=send)
        writer.start()
        got = []
        for _ in sent:
            message = queue.get(timeout=PROCESS_TIMEOUT_SECONDS)
            message.ack()
            got.append(message.payload["number"])
        writer.join()
    assert got == list(sent)
