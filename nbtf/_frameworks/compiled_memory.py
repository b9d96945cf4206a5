"""How much memory does a function need that JAX has compiled? What XLA has planned for it; nobody has measured that."""

from __future__ import annotations

import sys
from typing import Any, NamedTuple


class CompiledMemory(NamedTuple):
    """The memory that XLA has planned for a compiled function: bytes on each of `device_count` devices of a platform.

    `reused` is what results take in the place of arguments that were donated. `peak` is the most at one moment; None
    where this release of JAX, or this platform, does not tell.
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
        """All of it at one moment: arguments, results and temporaries, each place counted once, and the code."""
        return self.arguments + self.results - self.reused + self.temporaries + self.code


def memory_of_compiled(compiled: Any) -> CompiledMemory:
    """Returns what `tf.runtime.compiled_memory` does.

    Raises:
      TypeError: no function that JAX has compiled.
      ValueError: this platform tells no plan.
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
        raise ValueError(f"On {platform} XLA does not tell what memory it has planned.")
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
