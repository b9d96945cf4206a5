"""A stub of JAX: one GPU, or a CPU that tells no memory. Nothing is computed."""

from __future__ import annotations

from types import ModuleType, SimpleNamespace
from typing import Any


def stub_jax(on_gpu: bool, started: bool = True) -> dict[str, ModuleType]:
    """Returns the modules that a process has which has imported it."""
    jax: Any = ModuleType("jax")
    jax.in_use = jax.peak = 0
    bridge: Any = ModuleType("jax._src.xla_bridge")
    bridge.started = started
    bridge.backends_are_initialized = lambda: bridge.started
    figures = lambda: {"bytes_in_use": jax.in_use, "peak_bytes_in_use": jax.peak} if on_gpu else None  # noqa: E731
    device = SimpleNamespace(platform="gpu" if on_gpu else "cpu", id=0, device_kind="stub", memory_stats=figures)
    jax.local_devices = lambda: [device]

    def ones(nbytes: int) -> None:
        bridge.started = True
        jax.in_use += nbytes
        jax.peak = max(jax.peak, jax.in_use)

    jax.ones = ones
    return {"jax": jax, "jax._src.xla_bridge": bridge}
