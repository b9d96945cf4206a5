"""Is a GPU being used, and if not, why?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbtf._ops.linalg.products import matmul
from nbtf.runtime._recordings import recording

if TYPE_CHECKING:
    from nbtf._runtime.gpu_use import GpuUse


def is_gpu_in_use() -> GpuUse:
    """Returns whether a GPU is being used, and if not, why: listed, visible, used by the last op, real, faster.

    Checks the last recorded op; without a recording, it computes a small product first. For a real GPU, it measures
    whether the GPU is faster, with matrices of 1024 x 1024; a simulated one is NumPy on the CPU.

    Returns:
      A report that is true only if a real GPU was used; it prints as a sentence and one line per question.

    >>> tf.runtime.restart()
    >>> _ = tf.runtime.simulate_gpus(1)
    1 simulated GPU (Tesla V100-SXM2-16GB, 16 GiB): NumPy on this computer's CPU. No GPU is used.
    >>> with tf.runtime.recording():
    ...     _ = tf.matmul([[1.0]], [[2.0]])
    >>> tf.runtime.is_gpu_in_use()
    No: MatMul ran on GPU:0, which is simulated (NumPy on this CPU)
      listed  yes  1 simulated GPU
      visible yes  this process uses 1 of them
      used    yes  MatMul ran on GPU:0: lowest-numbered GPU
      real    no   MatMul ran on GPU:0, which is simulated (NumPy on this CPU)
      faster  –    not asked
    """
    from nbtf._ops.gpu_comparison import compared_with_cpu  # imported late, as few programs need it
    from nbtf._runtime.gpu_use import gpu_use

    return gpu_use(_small_product, compared_with_cpu)


def _small_product() -> None:
    with recording(10):
        matmul([[1.0]], [[2.0]])
