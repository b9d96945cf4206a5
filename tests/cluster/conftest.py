"""Tasks in this process; and real processes of Dask, whose workers see the cards of a fake driver."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from nbtf._cluster.controller import connect
from nbtf._cluster.in_process import InProcessEngine
from nbtf._runtime.context import CURRENT, Context, use_context
from nbtf.errors import AbortedError
from tests.cluster.connected import Connected

DRIVER = """
from tests.fake_nvml import FakeCard, FakeNVML
_driver = FakeNVML(FakeCard(0), FakeCard(1, used=5 << 30))
def __getattr__(name):
    return getattr(_driver, name)
"""


@pytest.fixture(scope="session")
def dask_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A cluster that never heard of nbtf: two workers, with certificates."""
    distributed = pytest.importorskip("distributed")
    folder = tmp_path_factory.mktemp("driver")
    (folder / "pynvml.py").write_text(DRIVER, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys.modules["__main__"], "__spec__", None, raising=False)  # a shell's has none, and Dask asks
        patch.setitem(sys.modules, "pynvml", None)  # this process has no such cards
        patch.syspath_prepend(folder)  # which processes that Dask starts inherit
        cluster = distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            security=distributed.Security.temporary(),
            dashboard_address="127.0.0.1:0",
            host="127.0.0.1",
        )
    with cluster:
        yield cluster


@pytest.fixture
def connected() -> Iterator[Callable[..., Connected]]:
    """Connects a fresh context with `InProcessEngine({"worker": tasks}, ...)`."""
    engines: list[InProcessEngine] = []
    with use_context(Context(None, {})):

        def start(tasks: int = 2, gpus: int = 1, **options: Any) -> Connected:
            engines.append(InProcessEngine({"worker": tasks}, gpus, **options))
            return Connected(engines[-1], connect(engines[-1]))

        yield start
        cluster: Any = CURRENT.context.cluster
        if cluster is not None:
            cluster.end(AbortedError("The test is over."))
        for engine in engines:
            engine.close()


@pytest.fixture
def two(connected: Callable[..., Connected]) -> Connected:
    """Two tasks with a simulated GPU each."""
    return connected()
