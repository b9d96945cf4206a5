"""What holds for the whole process: numbers of threads, and how the memory of all its GPUs is taken."""

from __future__ import annotations

from nbtf._runtime.context import CURRENT


class threading:  # noqa: N801  # TensorFlow's name
    """`tf.config.threading`: accepted and reported; NumPy's own threads do the work."""

    @staticmethod
    def get_intra_op_parallelism_threads() -> int:
        """Returns the number that was set; 0 means that the system chooses."""
        return CURRENT.context.settings.intra_op_threads

    @staticmethod
    def set_intra_op_parallelism_threads(num_threads: int) -> None:
        """Takes a number down; `RuntimeError` after the devices are in use."""
        _set_threads("intra_op_threads", "Intra", num_threads)

    @staticmethod
    def get_inter_op_parallelism_threads() -> int:
        """Returns the number that was set; 0 means that the system chooses."""
        return CURRENT.context.settings.inter_op_threads

    @staticmethod
    def set_inter_op_parallelism_threads(num_threads: int) -> None:
        """Takes a number down; `RuntimeError` after the devices are in use."""
        _set_threads("inter_op_threads", "Inter", num_threads)


def _set_threads(setting: str, label: str, number: int) -> None:
    context = CURRENT.context
    if getattr(context.settings, setting) == number:
        return
    if context.configuration.frozen:
        raise RuntimeError(f"{label} op parallelism cannot be modified after initialization.")
    context.change(**{setting: number})


class gpu:  # noqa: N801  # the alpha's name
    """`tf.config.gpu` of the 2.0 alpha: memory settings for all GPUs of the process, before first use."""

    @staticmethod
    def set_per_process_memory_fraction(fraction: float) -> None:
        """Takes this part of each GPU's whole memory.

        Raises:
          ValueError: a negative fraction.
          RuntimeError: the devices are in use already.
        """
        CURRENT.context.configuration.set_for_process(fraction=fraction)

    @staticmethod
    def get_per_process_memory_fraction() -> float:
        """Returns the part that was set; 1.0 if none was."""
        fraction = CURRENT.context.configuration.fraction
        return 1.0 if fraction is None else fraction

    @staticmethod
    def set_per_process_memory_growth(enabled: bool = True) -> None:
        """Lets every GPU start small and grow. The alpha needed the argument; the guide writes none.

        Raises:
          RuntimeError: the devices are in use already.
        """
        CURRENT.context.configuration.set_for_process(growth=enabled)

    @staticmethod
    def get_per_process_memory_growth() -> bool:
        """Returns whether growth was set for the process."""
        return bool(CURRENT.context.configuration.process_growth)
