"""Real processes of Dask on this machine, whose workers see the cards of a fake driver."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

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
        patch.syspath_prepend(folder)  # which processes that Dask starts inherit
        with distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            security=distributed.Security.temporary(),
            dashboard_address=None,
            host="127.0.0.1",
        ) as cluster:
            yield cluster
