"""How does `nbtf metrics` answer requests? With a time limit, a few at once, and never for a page in a browser."""

from __future__ import annotations

import ipaddress
import socket
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from socketserver import ThreadingMixIn
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

REQUEST_SECONDS = 10.0
"""Seconds that a request may take, from the connection to the end of the answer."""

MOST_REQUESTS = 16
"""Number of requests that are answered at once. Prometheus sends one."""

Application = Callable[[dict[str, Any], Any], Iterable[bytes]]


class MetricsServer(ThreadingMixIn, WSGIServer):
    """A server that no single request can block."""

    daemon_threads = True

    def __init__(self, *arguments: Any) -> None:
        """Listens; see `WSGIServer`."""
        self._places = threading.BoundedSemaphore(MOST_REQUESTS)
        super().__init__(*arguments)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answers a request in its own thread; closes the connection if too many requests are being answered."""
        if self._places.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Answers a request within its time limit."""
        limit = threading.Timer(REQUEST_SECONDS, _cut, [request])
        limit.daemon = True
        limit.start()
        try:
            super().process_request_thread(request, client_address)
        finally:
            limit.cancel()
            self._places.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Prints nothing: a client that disconnects, or does not send HTTP, is not worth a traceback."""


class _Handler(WSGIRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        """Prints nothing."""


def _cut(request: socket.socket) -> None:
    with suppress(OSError):  # the connection has ended in the meantime
        request.shutdown(socket.SHUT_RDWR)


def new_server(address: str, port: int, application: Application) -> MetricsServer:
    """Returns a listening server, which answers once `serve_forever` is called.

    Args:
      address: an IP address or a host name. On a loopback address, only requests whose `Host` names this computer are
        answered, because a page in a browser can point its own host name there.
      port: port number; 0 chooses any free port.
      application: a WSGI application that answers a request.

    Raises:
      OSError: if the address or the port is not available.
    """
    family, _, _, _, target = socket.getaddrinfo(address, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
    server_class = type("MetricsServer", (MetricsServer,), {"address_family": family})
    host = str(target[0])
    answered = _for_this_computer(application) if ipaddress.ip_address(host).is_loopback else application
    return make_server(host, port, answered, server_class, _Handler)


def _for_this_computer(application: Application) -> Application:
    def answer(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        if names_this_computer(environ.get("HTTP_HOST", "")):
            return application(environ, start_response)
        start_response("403 Forbidden", [("Content-Type", "text/plain")])
        return [b"This address answers requests to localhost only.\n"]

    return answer


def names_this_computer(host: str) -> bool:
    """Returns whether a `Host` header names this computer.

    >>> names_this_computer("localhost:9400"), names_this_computer("[::1]:9400"), names_this_computer("evil.example")
    (True, True, False)
    """
    name = host.rpartition("]")[0].removeprefix("[") if host.startswith("[") else host.partition(":")[0]
    if name == "localhost":
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False
