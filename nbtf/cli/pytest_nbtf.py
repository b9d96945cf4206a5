"""What does pytest load in every project whose environment has nbtf? Only names; nbtf itself is loaded on request.

In the wheel, this file is installed beside the package, not in it: importing `nbtf` would slow down every pytest run.

    pytest --nbtf notebooks/        # checks notebooks as `nbtf notebooks check` does, one test for each
    pytest --nbtf-redirect=tensorflow tests/    # `import tensorflow` means nbtf in tests, so that Keras runs on it

    def test_products_stay_on_their_card(device_record):
        ...
        device_record.expect("MatMul=GPU:1", no_copies=True)

    @pytest.mark.gpu_memory(at_most="2GiB", kept=0)
    @pytest.mark.placement("MatMul=GPU:1", no_copies=True)
    def test_training(): ...
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from nbtf.runtime import Recording

MARKERS = {
    "gpu_memory": "gpu_memory(at_most=None, kept=None, without=()): nbtf: limits the memory of each GPU in this test",
    "placement": "placement(*rules, no_copies=False, without=()): nbtf: where ops must run, as 'MatMul=GPU:1'",
}


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the options."""
    group = parser.getgroup("nbtf", "checks of notebooks by nbtf")
    group.addoption("--nbtf", action="store_true", help="check notebooks: run each once and compare its outputs")
    group.addoption("--nbtf-timeout", type=int, metavar="S", help="time limit of a cell in seconds; 0: no limit")
    group.addoption("--nbtf-gpus", metavar="GPUS", help="simulate GPUs, for example 4 or 4xA100-40GB")
    group.addoption("--nbtf-redirect", choices=["tensorflow"], help="run TensorFlow notebooks and tests on nbtf")
    group.addoption("--nbtf-tolerance", type=float, metavar="SHARE", help="relative tolerance for decimal numbers")


def pytest_configure(config: pytest.Config) -> None:
    """Registers the markers; loads the notebook checks if they were requested."""
    for line in MARKERS.values():
        config.addinivalue_line("markers", line)
    if any(config.getoption(option) for option in ("--nbtf", "--nbtf-gpus", "--nbtf-redirect")):
        from nbtf.cli.checking.pytest_notebooks import Notebooks

        config.pluginmanager.register(Notebooks(config), "nbtf-notebooks")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """Records a marked test, and checks the record after the test itself has passed."""
    marks = [mark for mark in item.iter_markers() if mark.name in MARKERS]
    if not marks or all(is_of_project(item.config, mark.name) for mark in marks):
        return (yield)
    from nbtf.cli.checking.pytest_marks import within_limits

    with within_limits([mark for mark in marks if not is_of_project(item.config, mark.name)]):
        return (yield)


def is_of_project(config: pytest.Config, name: str) -> bool:
    """Returns whether the project itself declares a marker of this name, which then has another meaning."""
    declared: list[str] = config.getini("markers")
    return any(line not in MARKERS.values() and line.split(":")[0].split("(")[0].strip() == name for line in declared)


@pytest.fixture
def device_record() -> Iterator[Recording]:
    """A `tf.runtime.Recording` of the test's ops (including PyTorch's), placement reasons, copies and memory."""
    from nbtf.cli.checking.pytest_marks import recorded

    with recorded() as record:
        yield record
