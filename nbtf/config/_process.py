"""Which settings apply to the whole process? The numbers of threads, and how all GPUs allocate their memory."""

from __future__ import annotations

from nbtf._runtime.arguments import check_flag, check_number, check_whole
from nbtf._runtime.context import CURRENT


class threading:  # noqa: N801  # TensorFlow's name
    """`tf.config.threading`: numbers of threads, stored and returned; NumPy's own threads do the work.

    >>> tf.runtime.restart()
    >>> tf.config.threading.set_intra_op_parallelism_threads(1)
    """

    @staticmethod
    def get_intra_op_parallelism_threads() -> int:
        """Returns the number that was set; 0 means that the system chooses.

        >>> tf.config.threading.get_intra_op_parallelism_threads()
        0
        """
        return CURRENT.context.settings.intra_op_threads

    @staticmethod
    def set_intra_op_parallelism_threads(num_threads: int) -> None:
        """Stores a number of threads; call it before the devices are in use.

        Args:
          num_threads: number of threads; 0 leaves it to the system.

        Raises:
          TypeError: if `num_threads` is not an integer.
          RuntimeError: if the devices are already in use.

        >>> tf.runtime.restart()
        >>> tf.config.threading.set_intra_op_parallelism_threads(2)
        >>> tf.config.threading.get_intra_op_parallelism_threads()
        2
        """
        _set_threads("intra_op_threads", "Intra", num_threads)

    @staticmethod
    def get_inter_op_parallelism_threads() -> int:
        """Returns the number that was set; 0 means that the system chooses.

        >>> tf.config.threading.get_inter_op_parallelism_threads()
        0
        """
        return CURRENT.context.settings.inter_op_threads

    @staticmethod
    def set_inter_op_parallelism_threads(num_threads: int) -> None:
        """Stores a number of threads; call it before the devices are in use.

        Args:
          num_threads: number of threads; 0 leaves it to the system.

        Raises:
          TypeError: if `num_threads` is not an integer.
          RuntimeError: if the devices are already in use.

        >>> tf.runtime.restart()
        >>> tf.config.threading.set_inter_op_parallelism_threads(2)
        >>> tf.config.threading.get_inter_op_parallelism_threads()
        2
        """
        _set_threads("inter_op_threads", "Inter", num_threads)


def _set_threads(setting: str, label: str, number: int) -> None:
    context, number = CURRENT.context, check_whole(number, "num_threads")
    if getattr(context.settings, setting) == number:
        return
    if context.configuration.frozen:
        raise RuntimeError(f"{label} op parallelism cannot be modified after initialization.")
    context.change(**{setting: number})


class gpu:  # noqa: N801  # the alpha's name
    """`tf.config.gpu` of the 2.0 alpha: memory settings for all GPUs of the process, set before first use.

    >>> tf.runtime.restart()
    >>> tf.config.gpu.set_per_process_memory_growth()
    """

    @staticmethod
    def set_per_process_memory_fraction(fraction: float) -> None:
        """Limits each GPU to this fraction of its total memory.

        Args:
          fraction: the share, such as 0.25 for a quarter.

        Raises:
          TypeError: if `fraction` is not a number.
          ValueError: if `fraction` is negative or not finite.
          RuntimeError: if the devices are already in use.

        >>> tf.runtime.restart()
        >>> _ = tf.runtime.simulate_gpus(1)
        1 simulated GPU (Tesla V100-SXM2-16GB, 16 GiB): NumPy on this computer's CPU. No GPU is used.
        >>> tf.config.gpu.set_per_process_memory_fraction(0.25)
        >>> x = tf.zeros([256])
        >>> tf.runtime.devices()[1].memory_limit / 2**30
        4.0
        """
        CURRENT.context.configuration.set_for_process(fraction=check_number(fraction, "fraction"))

    @staticmethod
    def get_per_process_memory_fraction() -> float:
        """Returns the fraction that was set; 1.0 by default.

        >>> tf.config.gpu.get_per_process_memory_fraction()
        1.0
        """
        fraction = CURRENT.context.configuration.fraction
        return 1.0 if fraction is None else fraction

    @staticmethod
    def set_per_process_memory_growth(enabled: bool = True) -> None:
        """Lets every GPU start small and grow. The alpha required the argument, but its guide calls it without one.

        Args:
          enabled: False reserves the memory at once, as by default.

        Raises:
          TypeError: if `enabled` is not a Boolean.
          RuntimeError: if the devices are already in use.

        >>> tf.runtime.restart()
        >>> _ = tf.runtime.simulate_gpus(1)
        1 simulated GPU (Tesla V100-SXM2-16GB, 16 GiB): NumPy on this computer's CPU. No GPU is used.
        >>> tf.config.gpu.set_per_process_memory_growth()
        >>> x = tf.zeros([256])
        >>> tf.runtime.devices()[1].pool / 2**20
        2.0
        """
        CURRENT.context.configuration.set_for_process(growth=check_flag(enabled))

    @staticmethod
    def get_per_process_memory_growth() -> bool:
        """Returns whether growth was requested for the process.

        >>> tf.config.gpu.get_per_process_memory_growth()
        False
        """
        return bool(CURRENT.context.configuration.process_growth)
