"""Runs these tests on a fake GPU, where NumPy computes, and on a real GPU if there is one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext

import pytest

from nbtf._devices import discovery
from nbtf._devices.cuda import probe as cuda_probe
from nbtf._devices.cuda.device import CudaGPU
from nbtf._runtime.context import Context, use_context
from tests import fake_cupy

REAL = cuda_probe.probe({}).cards


@pytest.fixture(scope="module", params=["fake", "real"] if REAL else ["fake"])
def on_a_gpu(request: pytest.FixtureRequest) -> Iterator[Context]:
    """A context whose first device is a GPU; all tests of a file share it and its compiled kernels."""
    fake = request.param == "fake"
    with pytest.MonkeyPatch.context() as patch, fake_cupy.installed(1) if fake else nullcontext():
        found = cuda_probe.ask(fake_cupy).cards if fake else REAL
        patch.setattr(discovery, "real_cards", lambda environ: () if "NBTF_GPU" in environ else found)
        context = Context(environ={})
        with use_context(context):
            assert isinstance(context.devices.first, CudaGPU)
        yield context


@pytest.fixture
def used(on_a_gpu: Context) -> Iterator[None]:
    """Runs the ops of the test on the GPU."""
    with use_context(on_a_gpu):
        yield
