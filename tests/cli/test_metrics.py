"""Does Prometheus understand what `nbtf metrics` says, and does it learn of nobody else's notebooks?"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest

from nbtf import runtime
from nbtf.cli import main, metrics_server
from nbtf.cli.metrics import _address
from nbtf.runtime import CardMonitor, ProcessOwner
from tests.fake_nvml import GIB, MIB, FakeCard, FakeNVML, NVMLError
from tests.machines import machine
from tests.rings import paired

parser = pytest.importorskip("prometheus_client.parser", reason="needs the metrics extra, or JupyterLab")

OWNERS = {
    7: ProcessOwner(7, "ada", True, "python3", 'a "quoted"\\ name\n.ipynb', True, 30.0),
    8: ProcessOwner(8, "bob", False, None, None),
}


@pytest.fixture
def nvml(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeNVML]:
    """Two cards, of which one tells neither temperature nor power."""
    card = FakeCard(0, processes=[(7, 2 * GIB), (8, GIB)], name="NVIDIA \u00fcber")
    fake = FakeNVML(card, FakeCard(1, temperature=None, milliwatts=None, used=MIB, utilization=0))
    monitor = CardMonitor(lambda: fake)
    monkeypatch.setattr(runtime, "CardMonitor", lambda: monitor)
    monkeypatch.setattr(runtime, "process_owner", OWNERS.__getitem__)
    monkeypatch.setattr("nbtf._devices.nvml.strange_pids", lambda: "")
    with machine(0):
        yield fake


def samples(text: str) -> dict[str, list[Any]]:
    """What Prometheus reads: the samples of each family."""
    families = list(parser.text_string_to_metric_families(text))
    assert all(family.documentation and family.type == "gauge" for family in families)
    return {family.name: family.samples for family in families}


def told(capsys: pytest.CaptureFixture[str]) -> str:
    assert 0 == main(["metrics"])
    return capsys.readouterr().out


def values(read: dict[str, list[Any]], name: str) -> dict[str, float]:
    return {sample.labels["card"]: sample.value for sample in read[name]}


def test_figures_are_in_base_units(nvml: FakeNVML, capsys: pytest.CaptureFixture[str]) -> None:
    read = samples(told(capsys))

    assert {"0": 3.0 * GIB, "1": float(MIB)} == values(read, "nbtf_gpu_memory_used_bytes")
    assert {"0": 24.0 * GIB, "1": 24.0 * GIB} == values(read, "nbtf_gpu_memory_total_bytes")
    assert {"0": 0.34, "1": 0.0} == values(read, "nbtf_gpu_utilization_ratio")
    assert {"0": 2.0, "1": 0.0} == values(read, "nbtf_gpu_processes")
    assert {"0": 0.0, "1": 1.0} == values(read, "nbtf_gpu_free")
    assert {"NVIDIA \u00fcber", "NVIDIA L4"} == {sample.labels["name"] for sample in read["nbtf_gpu_memory_used_bytes"]}


def test_figure_that_a_card_does_not_tell_is_left_out(nvml: FakeNVML, capsys: pytest.CaptureFixture[str]) -> None:
    read = samples(told(capsys))

    assert ({"0": 61.0}, {"0": 72.3}) == (
        values(read, "nbtf_gpu_temperature_celsius"),
        values(read, "nbtf_gpu_power_watts"),
    )


def test_of_processes_only_those_of_this_user_are_told(nvml: FakeNVML, capsys: pytest.CaptureFixture[str]) -> None:
    text = told(capsys)
    [process] = samples(text)["nbtf_gpu_process_memory_bytes"]

    assert 2.0 * GIB == process.value
    assert {"card": "0", "pid": "7", "command": "python3", "notebook": OWNERS[7].notebook} == process.labels
    assert [30.0] == [sample.value for sample in samples(text)["nbtf_gpu_process_idle_seconds"]]
    assert "bob" not in text
    assert '"8"' not in text


def test_simulated_cards_are_labelled(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime, "CardMonitor", lambda: CardMonitor(lambda: FakeNVML(broken=NVMLError("no driver"))))
    with machine(2, memory="2GiB"):
        read = samples(told(capsys))

    assert {"GPU:0": 2.0 * GIB, "GPU:1": 2.0 * GIB} == values(read, "nbtf_gpu_memory_total_bytes")
    assert {"1"} == {sample.labels["simulated"] for family in read.values() for sample in family}
    assert [] == read["nbtf_gpu_free"]


def test_driver_that_has_gone_is_an_empty_answer(nvml: FakeNVML, monkeypatch: pytest.MonkeyPatch) -> None:
    from nbtf.cli.metrics import GAUGES, Collector

    collector = Collector(CardMonitor(lambda: FakeNVML(broken=NVMLError("Driver Not Loaded"))))

    families = list(collector.collect())

    assert len(GAUGES) + 2 == len(families)
    assert [] == [sample for family in families for sample in family.samples]


def environment(**more: str) -> dict[str, str]:
    return {**os.environ, "NBTF_SIMULATED_GPUS": "2", "CUDA_VISIBLE_DEVICES": "0,1", "JUPYTER_TOKEN": "s3cret", **more}


@pytest.mark.skipif(sys.platform == "win32", reason="Windows sends no SIGTERM that a process could hear")
def test_server_answers_on_this_computer_until_it_is_told_to_end() -> None:
    words = [sys.executable, "-m", "nbtf", "metrics", "--listen", "0"]
    root = Path(__file__).parents[2]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, cwd=root, env=environment()) as process:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        with urllib.request.urlopen(address) as answer:
            text = answer.read().decode()
        process.send_signal(signal.SIGTERM)
        status = process.wait()

    assert address.startswith("http://127.0.0.1:")
    assert {"GPU:0", "GPU:1"} == values(samples(text), "nbtf_gpu_memory_total_bytes").keys()
    assert "s3cret" not in text
    assert 0 == status


@pytest.fixture
def metrics_port(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """A server with a short time limit, which answers two requests at once."""
    monkeypatch.setattr(metrics_server, "REQUEST_SECONDS", 0.2)
    monkeypatch.setattr(metrics_server, "MOST_REQUESTS", 2)

    def application(environ: Any, start_response: Any) -> list[bytes]:
        start_response("200 OK", [])
        return [b"figures"]

    server = metrics_server.new_server("127.0.0.1", 0, application)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server.server_port
    server.shutdown()
    server.server_close()
    thread.join()


def answer_of(port: int, request: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(request)
        parts: list[bytes] = []
        with suppress(ConnectionError):
            parts.extend(iter(lambda: connection.recv(1024), b""))
        return b"".join(parts)


@pytest.mark.parametrize("begin", [b"", b"GET", b"GET / HTTP/1.1\r\nHost: loc"])
def test_request_that_stalls_is_cut_off(metrics_port: int, begin: bytes, capsys: pytest.CaptureFixture[str]) -> None:
    with ExitStack() as stack:
        stalled = [stack.enter_context(socket.create_connection(("127.0.0.1", metrics_port))) for _ in range(6)]
        for connection in stalled:  # more than are answered at once
            with suppress(ConnectionError):
                connection.sendall(begin)
        with suppress(ConnectionError):
            assert b"" == stalled[-1].recv(1)
        while b"figures" not in (answer := answer_of(metrics_port, b"GET / HTTP/1.0\r\nHost: localhost\r\n\r\n")):
            assert b"" == answer  # until one of the first is cut off

    assert "" == capsys.readouterr().err


LOCAL = ["localhost", "127.0.0.1", "127.0.0.2", "[::1]"]
FOREIGN = ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "10.0.0.1", "", "[fe80::1]", "[::1"]


@pytest.mark.parametrize(("host", "port"), paired([*LOCAL, *FOREIGN], ["", ":9400"]))
def test_page_that_leads_its_name_here_gets_nothing(metrics_port: int, host: str, port: str) -> None:
    answer = answer_of(metrics_port, f"GET / HTTP/1.0\r\nHost: {host}{port}\r\n\r\n".encode())

    assert (host in LOCAL) == (b"figures" in answer)
    assert (host in FOREIGN) == (b" 403 " in answer)


def test_port_that_is_taken_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as taken, machine(1):
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]

        assert 2 == main(["metrics", "--listen", str(port)])

    assert f"cannot listen at 127.0.0.1:{port}: " in capsys.readouterr().err


@pytest.mark.parametrize("text", ["", "here", "1:2:x", "99999"])
def test_address_that_is_none_is_refused(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["metrics", "--listen", text])

    assert "expected [ADDRESS:]PORT" in capsys.readouterr().err


def test_addresses() -> None:
    assert [("127.0.0.1", 9400), ("0.0.0.0", 1), ("::1", 2)] == list(map(_address, ["9400", "0.0.0.0:1", "[::1]:2"]))
