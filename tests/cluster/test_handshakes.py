"""Does a cluster keep working, and stay quiet, whoever connects to its ports and does not show a certificate?"""

from __future__ import annotations

import asyncio
import errno
import json
import resource
import socket
import ssl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from typing import Any

import pytest

from nbtf._cluster import handshakes

pytest.importorskip("distributed")

DESCRIPTORS = 300
CONNECTIONS = 2000
OPS = 20

PROGRAM = """\
import json, resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (DESCRIPTORS, DESCRIPTORS))
import distributed
import nbtf as tf
def workers(cluster):
    with distributed.Client(cluster.scheduler_address, security=cluster.security, set_as_default=False) as client:
        return [*client.scheduler_info()["workers"]]
with tf.distribute.LocalCluster(worker=2, gpus=1) as cluster:
    tf.config.experimental_connect_to_cluster(cluster)
    print(json.dumps([cluster.scheduler_address, *workers(cluster)]), flush=True)
    for line in sys.stdin:
        for number in range(int(line)):
            with tf.device(f"/job:worker/task:{number % 2}/device:GPU:0"):
                total = tf.reduce_sum(tf.ones([4, 4]) * float(number))
            with tf.device(f"/job:worker/task:{(number + 1) % 2}/device:GPU:0"):
                total = total + 1.0
            assert total.numpy() == 16.0 * number + 1.0
        assert len(workers(cluster)) == 2
        print("computed", flush=True)
"""


@pytest.fixture
def connections() -> Iterator[ExitStack]:
    """Closes connections at the end; a process may have more of them than usual meanwhile."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    with ExitStack() as stack:
        yield stack
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def connect(address: str, connections: ExitStack) -> socket.socket:
    host, _, port = address.removeprefix("tls://").rpartition(":")
    return connections.enter_context(socket.create_connection((host, int(port)), timeout=60))


def test_half_open_connections_neither_stop_a_cluster_nor_fill_the_notebook(connections: ExitStack) -> None:
    program = PROGRAM.replace("DESCRIPTORS", str(DESCRIPTORS))
    pipes: dict[str, Any] = {
        "stdin": subprocess.PIPE,
        "stdout": subprocess.PIPE,
        "stderr": subprocess.PIPE,
        "text": True,
    }
    with subprocess.Popen([sys.executable, "-c", program], **pipes) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        addresses = json.loads(process.stdout.readline())
        answers = []
        for number in range(CONNECTIONS):
            connect(addresses[number % len(addresses)], connections)
            if number % (CONNECTIONS // 4) == 0:
                process.stdin.write(f"{OPS}\n")
                process.stdin.flush()
                answers.append(process.stdout.readline())
        process.stdin.write(f"{OPS}\n")
        process.stdin.close()
        answers.append(process.stdout.readline())
        printed = process.stderr.read()

    assert 3 == len(addresses)
    assert ["computed\n"] * 5 == answers, printed
    assert len(printed.splitlines()) <= 1, printed[:2000]
    assert 0 == process.returncode


async def hear_from(count: int, monkeypatch: pytest.MonkeyPatch, **limits: Any) -> list[bytes | None]:
    """Returns what connections hear that never begin a handshake: the end, or None while they are open."""
    from tornado.tcpserver import TCPServer

    for name, value in limits.items():
        monkeypatch.setattr(handshakes, name, value)
    server = TCPServer(ssl_options=ssl.create_default_context(ssl.Purpose.CLIENT_AUTH))
    handshakes.Handshakes(server)
    server.listen(0, "127.0.0.1")
    [listener] = server._sockets.values()
    streams = [await asyncio.open_connection(*listener.getsockname()) for _ in range(count)]
    heard = [asyncio.ensure_future(reader.read()) for reader, _ in streams]
    await asyncio.wait(heard, return_when=asyncio.FIRST_COMPLETED)
    ends = [future.result() if future.done() else None for future in heard]
    server.stop()
    for _, writer in streams:
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()
    await asyncio.wait(heard)
    return ends


def test_handshake_has_a_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    assert [b""] == asyncio.run(hear_from(1, monkeypatch, HANDSHAKE_SECONDS=0.05))


def test_oldest_handshake_makes_room_for_a_new_one(monkeypatch: pytest.MonkeyPatch) -> None:
    assert [b"", None, None] == asyncio.run(hear_from(3, monkeypatch, MOST_HANDSHAKES=2))


def test_trouble_is_reported_once_and_in_a_sentence() -> None:
    sentences: list[str] = []
    handle = handshakes._Quiet([], sentences.append)
    with asyncio.Runner() as runner:
        for _ in range(3):
            handle(
                runner.get_loop(), {"message": "callback", "exception": OSError(errno.EMFILE, "Too many open files")}
            )
            handle(runner.get_loop(), {"message": "callback", "exception": ValueError("odd")})

    assert [handshakes.NO_DESCRIPTOR_LEFT, "A process of the cluster reports: callback: ValueError('odd')"] == sentences
