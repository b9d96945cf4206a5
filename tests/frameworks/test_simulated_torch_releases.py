"""Which releases and builds of PyTorch can simulate GPUs, and what do the others say?"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from nbtf._frameworks.torch.simulation.core_layout import CoreLayout, layout_in_headers
from nbtf._frameworks.torch.simulation.cuda_build import is_cuda_build
from nbtf._frameworks.torch.simulation.releases import RANGE, RELEASES, NoSimulationError, release_of

needs_torch = pytest.mark.skipif(find_spec("torch") is None, reason="needs PyTorch; one step of .ci/run has it")


def stub(version: str, folder: Path = Path("nowhere")) -> Any:
    return SimpleNamespace(__version__=version, __file__=str(folder / "__init__.py"))


def build(hip: str | None = None, **functions: Any) -> Any:
    return SimpleNamespace(version=SimpleNamespace(hip=hip), _C=SimpleNamespace(**functions))


def functions_of(layout: CoreLayout) -> list[list[str]]:
    """Returns the functions of both classes by slot; those without a name are called `other`."""
    classes = (layout.guard, layout.guard_count), (layout.hooks, layout.hooks_count)
    named = [({slot: name for name, slot in slots.items()}, count) for slots, count in classes]
    return [[names.get(slot, "other") for slot in range(count)] for names, count in named]


def write_headers(folder: Path, layout: CoreLayout, without: str = "") -> None:
    guard, hooks = functions_of(layout)
    headers = {
        "c10/core/impl/DeviceGuardImplInterface.h": ("C10_API DeviceGuardImplInterface", guard),
        "ATen/detail/AcceleratorHooksInterface.h": ("TORCH_API AcceleratorHooksInterface", hooks[:6]),
        "ATen/detail/CUDAHooksInterface.h": ("TORCH_API CUDAHooksInterface : Base", hooks[6:]),
    }
    for name, (title, names) in headers.items():
        path = folder / "include" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = [f"  virtual int {each}(int a = 0) const {{ return 1; }}  // f()" for each in names if each != without]
        path.write_text("\n".join([f"struct {title} {{", *lines, "};", ""]), encoding="utf-8")


def test_the_table_has_every_release_of_its_range() -> None:
    assert all(second == (first[0], first[1] + 1) for first, second in pairwise(RELEASES))
    assert f"PyTorch 2.10 to 2.{len(RELEASES) + 9}" == RANGE


def test_each_release_has_distinct_slots_within_its_tables() -> None:
    for layout, _ in RELEASES.values():
        for slots, count in ((layout.guard, layout.guard_count), (layout.hooks, layout.hooks_count)):
            assert len(slots) == len({*slots.values()})
            assert max(slots.values()) < count


@pytest.mark.parametrize("version", ["1.13.1", "2.0.0", "2.9.1+cpu", "2.9.9a0+git1234"])
def test_an_older_release_is_refused_with_the_supported_range(version: str) -> None:
    with pytest.raises(NoSimulationError) as refused:
        release_of(stub(version))

    assert f"GPUs cannot be simulated in PyTorch {version}, which is too old. Use {RANGE}." == str(refused.value)


@pytest.mark.parametrize(
    ("version", "expected"), [("2.10.0+cu128", (2, 10)), ("2.13.0", (2, 13)), ("2.11.0a0", (2, 11))]
)
def test_a_known_release_is_found_by_its_version(version: str, expected: tuple[int, int]) -> None:
    assert release_of(stub(version)) is RELEASES[expected]


@pytest.mark.parametrize("known", RELEASES)
def test_a_newer_release_is_read_from_its_headers(known: tuple[int, int], tmp_path: Path) -> None:
    layout = RELEASES[known].layout
    write_headers(tmp_path, layout)

    found = release_of(stub("3.1.0", tmp_path)).layout

    assert functions_of(layout) == [
        [name if name in slots else "other" for name in names]
        for names, slots in zip(functions_of(found), (layout.guard, layout.hooks), strict=True)
    ]


@pytest.mark.parametrize("without", ["queryEvent", "hasCUDA", "getPinnedMemoryAllocator"])
def test_a_newer_release_without_a_needed_function_is_refused(without: str, tmp_path: Path) -> None:
    write_headers(tmp_path, RELEASES[max(RELEASES)].layout, without)

    with pytest.raises(NoSimulationError, match=rf"PyTorch \(3\.1\.0\): its core is not as expected\. Use {RANGE}"):
        release_of(stub("3.1.0", tmp_path))


def test_a_newer_release_without_headers_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NoSimulationError, match="its core is not as expected"):
        release_of(stub("3.1.0", tmp_path))


def test_a_build_that_can_use_a_card_is_refused_with_what_to_do() -> None:
    with pytest.raises(NoSimulationError, match=r"can use a real GPU.*CUDA_VISIBLE_DEVICES=''"):
        is_cuda_build(build(_cuda_getDeviceCount=lambda: 1))
    with pytest.raises(NoSimulationError, match="was built for ROCm"):
        is_cuda_build(build(hip="6.4"))
    assert [True, False] == [is_cuda_build(build(_cuda_getDeviceCount=lambda: 0)), is_cuda_build(build())]


@needs_torch
def test_the_layout_of_the_installed_release_is_that_of_its_headers() -> None:
    torch = import_module("torch")
    expected, found = release_of(torch).layout, layout_in_headers(Path(torch.__file__ or "").parent / "include")

    assert (expected.guard_count, expected.hooks_count) == (found.guard_count, found.hooks_count)
    assert expected.guard.items() <= found.guard.items()
    assert expected.hooks.items() <= found.hooks.items()


@needs_torch
def test_pytorch_is_as_before_when_its_gpus_are_gone(capsys: pytest.CaptureFixture[str]) -> None:
    tf, torch = import_module("nbtf"), import_module("torch")

    def state() -> dict[str, object]:
        modules = {"_C": torch._C, "cuda": torch.cuda, "streams": torch.cuda.streams, "memory": torch.cuda.memory}
        return {f"{name}.{key}": value for name, module in modules.items() for key, value in vars(module).items()}

    tf.runtime.simulate_gpus(1, frameworks="torch")  # the first time, PyTorch sets some of its own attributes
    tf.runtime.restart()
    tf.runtime.simulate_gpus(0)
    before = state()
    tf.runtime.simulate_gpus(1, frameworks="torch")
    torch.ones(1, device="cuda")
    tf.runtime.restart()
    tf.runtime.simulate_gpus(0)
    after = state()

    assert before.keys() == after.keys()
    assert [] == [name for name, value in before.items() if after[name] is not value and "_cuda_init" not in name]
