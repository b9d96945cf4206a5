"""Fixtures and hooks for all tests and doctests, such as a browser or the reason why there is none."""

from __future__ import annotations

import gc
import importlib
import importlib.util
import os
import re
import shutil
import sys
import tomllib
from collections.abc import Generator, Iterator
from contextlib import suppress
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from nbtf._devices import discovery
from nbtf._devices.cuda.probe import probe
from nbtf._devices.discovery import simulated_machine
from nbtf._locks import _all_locks, release_abandoned
from nbtf._runtime.context import Context, use_context

ROOT = Path(__file__).parents[1]

# jsonschema imports it if it is there, which takes a second: it builds 38 grammars for formats that no notebook uses.
sys.modules.setdefault("rfc3987_syntax", None)  # pyright: ignore[reportArgumentType]

# The names under which Debian, Fedora and Google install a browser that playwright can drive as Chromium.
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")

# Tests that start kernels, pages and other programs take longest. Workers run them first and the short tests last.
SLOW_FOLDERS = tuple(ROOT / "tests" / name for name in "browser course notebook docs cli cluster gpu".split())


# Colab's stand-in is on the path of a different Python, and imports packages that only that Python has.
collect_ignore = ["colab"]


def pytest_configure(config: pytest.Config) -> None:
    for plugin in ("tests.fixtures", "tests.rings"):  # already loaded, unless the options were replaced
        config.pluginmanager.import_plugin(plugin)
    if os.environ.get("CI") and (missing := missing_packages()):
        raise pytest.UsageError(f"tests would be skipped in continuous integration without {', '.join(missing)}")
    let_properties_take_their_time()
    if getattr(config.option, "numprocesses", None):
        for library in ("OMP", "OPENBLAS", "MKL"):  # one core per worker: more threads would only wait for each other
            os.environ.setdefault(f"{library}_NUM_THREADS", "1")
    if sys.dont_write_bytecode and hasattr(config, "cache"):
        keep_bytecode(config.cache.mkdir("bytecode"))


def missing_packages() -> list[str]:
    """Returns the packages that tests need and that are not installed.

    These are the extras `lab` and `test`, and what the variable `NBTF_TESTS_NEED` names, such as `torch jax`.
    """
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = [*project["optional-dependencies"]["lab"], *project["optional-dependencies"]["test"]]
    names = [re.split(r"[^\w-]", requirement)[0] for requirement in extras]
    needed = [*names, *os.environ.get("NBTF_TESTS_NEED", "").split()]
    return [name for name in needed if not is_installed(name)]


def is_installed(package: str) -> bool:
    try:
        metadata.version(package)
    except metadata.PackageNotFoundError:
        return False
    return True


def let_properties_take_their_time() -> None:
    """Keeps hypothesis from failing a test because another program keeps the processor busy."""
    with suppress(ImportError):  # environments without property tests need no hypothesis
        import hypothesis

        too_slow = [hypothesis.HealthCheck.too_slow]
        hypothesis.settings.register_profile("untimed", deadline=None, suppress_health_check=too_slow)
        hypothesis.settings.load_profile("untimed")


def keep_bytecode(folder: Path) -> None:
    """Keeps bytecode in one of pytest's folders if none may lie next to the files: hundreds of programs start."""
    sys.dont_write_bytecode, sys.pycache_prefix = False, str(folder)
    os.environ["PYTHONPYCACHEPREFIX"] = str(folder)
    del os.environ["PYTHONDONTWRITEBYTECODE"]


@pytest.hookimpl(wrapper=True)
def pytest_report_to_serializable() -> Generator[None, Any, Any]:
    """Lets a worker report output that UTF-8 cannot encode, such as half of a surrogate pair."""
    return encodable((yield))


def encodable(data: Any) -> Any:
    """Returns a report's data with strings that UTF-8 can encode."""
    if isinstance(data, str):
        return data.encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(data, dict):
        return {encodable(key): encodable(value) for key, value in data.items()}
    return type(data)(map(encodable, data)) if isinstance(data, list | tuple) else data


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Keeps all browser tests on one worker, with one JupyterLab; distributes the rest by file, as `loadfile` does."""
    from xdist.scheduler import LoadFileScheduling

    class Scheduling(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return "browser" if nodeid.startswith("tests/browser/") else super()._split_scope(nodeid)

    return Scheduling(config, log) if config.option.dist == "loadfile" else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Runs slow folders first if several workers share the files; a single process keeps the usual order."""
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: next((i for i, slow in enumerate(SLOW_FOLDERS) if slow in item.path.parents), 9))


def pytest_report_header() -> str:
    return f"GPUs: {probe(os.environ).reason} Tests over tests/fake_cupy have a fake GPU: no GPU code is executed."


def pytest_collection_finish() -> None:
    freeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> Generator[None, Any, Any]:
    """Excludes objects that one test file has loaded from garbage collections during the next."""
    handled = yield
    if nextitem is None or nextitem.path != item.path:
        freeze()
    return handled


def freeze() -> None:
    """Excludes all current objects from garbage collections and from searches through all objects, to save time."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def browser() -> str:
    """The path of a browser. Without one, the test is skipped; if `CI` is set, it fails instead."""
    return browser_or_outcome()


def browser_or_outcome() -> str:
    """Returns the path of a browser that playwright can drive; skips or fails if there is none."""
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    if program is not None and importlib.util.find_spec("playwright") is not None:
        return program
    lacking = 'playwright: pip install -e ".[test]"' if program else f"a browser: one of {', '.join(BROWSERS)}"
    end = pytest.fail if os.environ.get("CI") else pytest.skip
    end(f"needs {lacking}")


@pytest.fixture(autouse=True)
def all_locks_are_released() -> Iterator[None]:
    """Fails a test that leaves a lock taken: a thread of a later test would wait for it forever."""
    yield
    kept = [lock for lock in _all_locks() if lock._is_owned()]
    release_abandoned()
    assert not kept, (
        f"the test left {len(kept)} locks taken; after an interrupt, call `release_abandoned` as a cell does"
    )


DEVICE_KINDS = ("cpu", "simulated", "cuda")


@pytest.fixture(params=DEVICE_KINDS)
def on_device(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Runs a test on every kind of device; yields the full name of the device that ops are placed on.

    Real cards are used if there are any. A fake card is not a device of this fixture.
    """
    machine = simulated_machine(2, "Tesla K20m") if request.param == "simulated" else None
    if request.param == "cuda":
        found = probe({})
        if not found.cards:
            pytest.skip(f"needs a real GPU: {found.reason}")
        monkeypatch.setattr(discovery, "real_cards", lambda environ: found.cards)
    with use_context(Context(machine, environ={})) as context:
        yield context.devices.first.name
