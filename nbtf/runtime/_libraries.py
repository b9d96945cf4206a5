"""Which array libraries does this process use beside nbtf?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nbtf._runtime.changes import Change, block

if TYPE_CHECKING:
    from nbtf._frameworks.base import Framework
    from nbtf._frameworks.compiled_memory import CompiledMemory


def frameworks() -> list[Framework]:
    """Returns the array libraries that this process has imported (PyTorch, CuPy, JAX), each with what it tells.

    A library has a `name` and tells its `cards()`, its `pools()` of memory on them in bytes, and what its `arrays()`
    are. A look: it imports nothing and starts no card.

    >>> [library.name for library in tf.runtime.frameworks() if library.module_name == "no such library"]
    []
    """
    from nbtf._frameworks import frameworks as imported  # late: `import nbtf` does without it

    return imported()


def compiled_memory(compiled: Any) -> CompiledMemory:
    """Returns what XLA has planned for a function that JAX has compiled, `jax.jit(f).lower(x).compile()`.

    It is no measurement: other arrays, what an allocator rounds up or keeps, and what cuBLAS or cuDNN take while it
    runs are not in it.

    Args:
      compiled: what `compile()` has returned.

    Returns:
      Bytes on each device: `arguments`, `results`, of these `reused` in the place of donated arguments, `temporaries`
      and `code`; `at_most` is all together, and `peak` the most at one moment, None where JAX does not tell.

    Raises:
      TypeError: something else; a function of `jax.jit` has no plan before it is compiled for shapes.
      ValueError: this platform tells no plan.

    >>> tf.runtime.compiled_memory(abs)
    Traceback (most recent call last):
    TypeError: A function that JAX has compiled is needed, jax.jit(f).lower(x).compile(). Got builtin_function_or_method
    """
    from nbtf._frameworks.compiled_memory import memory_of_compiled  # late: `import nbtf` does without it

    return memory_of_compiled(compiled)


@block
def watch(*libraries: str) -> Change[None]:
    """Has the ops of other array libraries recorded in a block, as nbtf's own are: where, why, and by which code line.

    Ops are told by the names of their library's own tools (`aten::mm`) to everybody who listens: recordings, observers,
    the placement log. Their devices are `CPU:0`, `GPU:0` where nbtf has that card, and else `cuda:0`. On the thread of
    the block and on those that begin in it; other processes, such as those of a DataLoader, are not heard.

    Args:
      *libraries: by the names of their modules: `"torch"`, or `"cupy"`, which tells its memory, and no op and no copy.
        Of one that is imported in the block, from then on.

    Raises:
      ValueError: no library, or one that tells nobody which ops it runs.
      RuntimeError: this release of the library does not tell what is needed.

    >>> with tf.runtime.recording() as record, tf.runtime.watch("torch"):
    ...     c = tf.add(1.0, 2.0)
    >>> record.ops[-1]
    ('AddV2', 'CPU:0')
    """
    from nbtf._frameworks.op_watch import OpWatch, watchable  # late: `import nbtf` does without them

    op_watch = OpWatch([watchable(library) for library in libraries], lambda framework: None)

    def write(is_on: bool) -> None:
        if is_on:
            op_watch.start()
        else:
            op_watch.stop()

    return Change("tf.runtime.watch", write, False, True, None)
