"""A database server that can go away: connections to it pass through here, are refused, or are never answered."""

import socket
import threading
from contextlib import suppress
from typing import Self
from urllib.parse import urlsplit, urlunsplit


class DatabaseProxy:
    """Passes bytes between its port and a server until it is told to ``refuse`` or to ``freeze``."""

    def __init__(self, address: str) -> None:
        parts = urlsplit(address)
        self._server = (parts.hostname, parts.port or 5432)
        self._listener = self._listening(0)
        self.port = self._listener.getsockname()[1]
        self._passing = threading.Event()
        self._passing.set()
        self._open: list[socket.socket] = []

    def to(self, address: str) -> str:
        """The address of a database of the server, as one that leads through here."""
        parts = urlsplit(address)
        return urlunsplit(parts._replace(netloc=f"{parts.username}@127.0.0.1:{self.port}"))

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, args=[self._listener], daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.refuse()

    def freeze(self) -> None:
        """Accept, read, and never answer, on connections old and new."""
        self._passing.clear()

    def refuse(self) -> None:
        """End every connection, and listen no more."""
        self._passing.set()
        for each in (self._listener, *self._open):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()
        self._open.clear()

    def recover(self) -> None:
        """Pass on again; what was frozen goes on."""
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
                server = socket.create_connection(self._server)
                self._open += [client, server]
                for source, target in ((client, server), (server, client)):
                    threading.Thread(target=self._pass, args=[source, target], daemon=True).start()

    def _pass(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                self._passing.wait()
                target.sendall(data)
        for each in (source, target):
            each.close()
