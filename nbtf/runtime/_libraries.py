"""Which other array libraries does this process use?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nbtf._devices.base import Buffer
from nbtf._runtime.changes import Change, block
from nbtf._runtime.holding import Holding
from nbtf._runtime.holding import holding as own_holding

if TYPE_CHECKING:
    from nbtf._frameworks.base import Framework
    from nbtf._frameworks.compiled_memory import CompiledMemory


def frameworks() -> list[Framework]:
    """Returns the array libraries that this process has imported, with access to their state.

    They are PyTorch, TensorFlow, CuPy and JAX. A library has a `name`. Its methods return its `cards()`, its memory
    `pools()` on them in bytes, and a description of its `arrays()`. Only inspects: imports nothing and starts no GPU.

    >>> [library.name for library in tf.runtime.frameworks() if library.module_name == "no such library"]
    []
    """
    from nbtf._frameworks import frameworks as imported  # imported late: `import nbtf` does not need it

    return imported()


def holding(value: Any) -> Holding | None:
    """Returns the piece of device memory that a value holds. Only inspects: starts no device, keeps nothing alive.

    Args:
      value: a tensor or a variable of nbtf, TensorFlow or Keras, or an array of another library in `frameworks()`;
        other objects hold no device memory themselves.

    Returns:
      The piece, with sizes in bytes; the device of another library's array is that library's name of the card, such as
      `cuda:0`. None if its memory is not tracked: on the CPU, for empty tensors, and for tensors made before a restart.

    >>> tf.runtime.restart()
    >>> _ = tf.runtime.simulate_gpus(1)
    1 simulated GPU (Tesla V100-SXM2-16GB, 16 GiB): NumPy on this computer's CPU. No GPU is used.
    >>> x = tf.zeros([10])
    >>> y = tf.reshape(x, [2, 5])
    >>> held = tf.runtime.holding(y)
    >>> held.device, held.nbytes, held.requested, held.sharers
    ('GPU:0', 256, 40, 2)
    """
    if issubclass(type(value), Buffer):
        return own_holding(value)
    for arrays in [library.arrays() for library in frameworks()]:
        if arrays is not None and issubclass(type(value), (arrays.type, *arrays.variables)):
            return arrays.holding(value)
    return None


def compiled_memory(compiled: Any) -> CompiledMemory:
    """Returns XLA's memory plan for a function that JAX has compiled with `jax.jit(f).lower(x).compile()`.

    The plan is not a measurement. It excludes other arrays, memory that an allocator rounds up or keeps, and memory
    that cuBLAS or cuDNN use while the function runs.

    Args:
      compiled: the result of `compile()`.

    Returns:
      Bytes on each device: `arguments`, `results`, `reused` (results in the memory of donated arguments),
      `temporaries` and `code`. `at_most` is their sum, and `peak` the highest use at any time; None if JAX does not
      report it.

    Raises:
      TypeError: if `compiled` is something else; a `jax.jit` function has no plan before it is compiled.
      ValueError: if this platform does not report a plan.

    >>> tf.runtime.compiled_memory(abs)
    Traceback (most recent call last):
    TypeError: `compiled` must be a compiled JAX function, jax.jit(f).lower(x).compile(). Got builtin_function_or_method
    """
    from nbtf._frameworks.compiled_memory import memory_of_compiled  # imported late: `import nbtf` does not need it

    return memory_of_compiled(compiled)


@block
def watch(*libraries: str) -> Change[None]:
    """Records the ops of other array libraries in a block like nbtf's own: device, reason and code line.

    Recordings, observers and the placement log receive the ops under the names that the library's own tools use
    (`aten::mm`). Their devices are `CPU:0`, `GPU:0` if nbtf uses that card, and otherwise `cuda:0`. Ops are recorded
    on the block's thread and any threads that it starts, but not in other processes, such as those of a DataLoader.
    TensorFlow's ops are recorded on all threads, under TensorFlow's own device names. A call of a `tf.function` is
    followed by its nodes, each with its name in `node` and without a time, which TensorFlow does not report.

    Args:
      *libraries: module names: `"torch"`, `"tensorflow"`, or `"cupy"`, for which only memory is recorded, not ops or
        copies. A library that is imported in the block is recorded from then on.

    Raises:
      ValueError: if a name is not a library, or the library does not report its ops.
      RuntimeError: if this release of the library does not report what is needed.

    >>> with tf.runtime.recording() as record, tf.runtime.watch("torch"):
    ...     c = tf.add(1.0, 2.0)
    >>> record.ops[-1]
    ('AddV2', 'CPU:0')
    """
    from nbtf._frameworks.op_watch import OpWatch, watchable  # imported late: `import nbtf` does not need them

    op_watch = OpWatch([watchable(library) for library in libraries], lambda framework: None)

    def write(is_on: bool) -> None:
        if is_on:
            op_watch.start()
        else:
            op_watch.stop()

    return Change("tf.runtime.watch", write, False, True, None)
