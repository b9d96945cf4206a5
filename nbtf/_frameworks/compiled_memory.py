"""How much memory does a compiled JAX function need? The figures are XLA's plan; they are not measured."""

from __future__ import annotations

import sys
from typing import Any, NamedTuple


class CompiledMemory(NamedTuple):
    """The memory that XLA has planned for a compiled function, in bytes on each of `device_count` devices.

    `reused` is the part of the results that replaces donated arguments. `peak` is the highest use at any time; None if
    this release of JAX, or this platform, does not report it.
    """

    platform: str
    device_count: int
    arguments: int
    results: int
    reused: int
    temporaries: int
    code: int
    peak: int | None

    @property
    def at_most(self) -> int:
        """Upper bound at any time: arguments, results, temporaries and code, with reused memory counted once."""
        return self.arguments + self.results - self.reused + self.temporaries + self.code


def memory_of_compiled(compiled: Any) -> CompiledMemory:
    """Implements `tf.runtime.compiled_memory`.

    Raises:
      TypeError: if `compiled` is not a compiled JAX function.
      ValueError: if this platform does not report a plan.
    """
    stages = getattr(sys.modules.get("jax"), "stages", None)
    if stages is None or not isinstance(compiled, stages.Compiled):
        came = type(compiled).__name__
        if stages is not None and isinstance(compiled, stages.Wrapped):
            came = "a function of jax.jit, which has no plan until it is compiled for shapes"
        elif stages is not None and isinstance(compiled, stages.Lowered):
            came = "the result of lower(): call .compile() on it"
        raise TypeError(f"`compiled` must be a compiled JAX function, jax.jit(f).lower(x).compile(). Got {came}")
    plan = compiled.memory_analysis()
    devices = compiled.runtime_executable().local_devices()
    platform = str(devices[0].platform)
    if plan is None:
        raise ValueError(f"XLA does not report its memory plan on {platform}.")
    return CompiledMemory(
        platform,
        len(devices),
        int(plan.argument_size_in_bytes),
        int(plan.output_size_in_bytes),
        int(plan.alias_size_in_bytes),
        int(plan.temp_size_in_bytes),
        int(plan.generated_code_size_in_bytes),
        int(getattr(plan, "peak_memory_in_bytes", 0)) or None,
    )
