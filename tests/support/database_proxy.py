"""A proxy for a PostgreSQL server: it forwards, refuses or freezes connections, or cuts them after a commit."""

import socket
import threading
from contextlib import suppress
from itertools import cycle
from typing import Self
from urllib.parse import urlsplit, urlunsplit

#: A commit in PostgreSQL's protocol, as psycopg sends it.
COMMIT = b"Q\0\0\0\x0bCOMMIT\0"


class DatabaseProxy:
    """Forwards bytes between its port and a server until ``refuse`` or ``freeze`` is called.

    While ``loses_commits``, every second COMMIT is executed, but its connection is cut before the client learns of it.
    """

    def __init__(self, address: str) -> None:
        parts = urlsplit(address)
        self._server = (parts.hostname, parts.port or 5432)
        self._listener = self._listening(0)
        self.port = self._listener.getsockname()[1]
        self._passing = threading.Event()
        self._passing.set()
        self._open: list[socket.socket] = []
        self.loses_commits, self.lost = False, 0
        self._is_lost = cycle([True, False])

    def to(self, address: str) -> str:
        """The address of one of the server's databases, through this proxy."""
        parts = urlsplit(address)
        return urlunsplit(parts._replace(netloc=f"{parts.username}@127.0.0.1:{self.port}"))

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, args=[self._listener], daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.refuse()

    def freeze(self) -> None:
        """Accept connections and read from them, but forward nothing, on old and new connections."""
        self._passing.clear()

    def refuse(self) -> None:
        """Close all connections and stop listening."""
        self._passing.set()
        for open_socket in (self._listener, *self._open):
            with suppress(OSError):
                open_socket.shutdown(socket.SHUT_RDWR)
            open_socket.close()
        self._open.clear()

    def recover(self) -> None:
        """Forward again, also on frozen connections."""
        if self._listener.fileno() < 0:
            self._listener = self._listening(self.port)
            threading.Thread(target=self._accept, args=[self._listener], daemon=True).start()
        self._passing.set()

    @staticmethod
    def _listening(port: int) -> socket.socket:
        return socket.create_server(("127.0.0.1", port), backlog=64)

    def _accept(self, listener: socket.socket) -> None:
        with suppress(OSError):
            while True:
                client, _ = listener.accept()
                try:
                    server = socket.create_connection(self._server)
                except OSError:  # the server itself is down
                    client.close()
                    continue
                self._open += [client, server]
                cut = threading.Event()
                for source, target in ((client, server), (server, client)):
                    threading.Thread(target=self._pass, args=[source, target, cut], daemon=True).start()

    def _pass(self, source: socket.socket, target: socket.socket, cut: threading.Event) -> None:
        """Forward what ``source`` sends, until ``cut`` is set."""
        with suppress(OSError):
            while data := source.recv(65536):
                self._passing.wait()
                if cut.is_set():  # the server has answered, so the commit is done
                    self.lost += 1
                    break
                if self.loses_commits and data == COMMIT and next(self._is_lost):
                    cut.set()
                target.sendall(data)
        for end in (source, target):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)  # closing alone would wait for the other thread's recv
            end.close()
