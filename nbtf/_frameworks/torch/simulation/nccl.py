"""The backend name `nccl` on simulated devices: gloo answers, with one warning per process."""

from __future__ import annotations

import warnings
from contextlib import suppress
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

from nbtf._frameworks.torch.simulation.peers import Peers
from nbtf._frameworks.torch.simulation.replacing import Replacements

_ANSWERED = (
    "The backend 'nccl' is simulated: gloo sends the tensors of simulated GPUs, copied through this computer's memory. "
    "The values are those of NCCL up to rounding; the speed is not."
)
_TIMEOUT = timedelta(minutes=10)
"""How long NCCL waits. Source: `kProcessGroupNCCLDefaultTimeout`, torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp."""

_VERSION = 2 << 32 | 27 << 16 | 5
"""NCCL 2.27.5. `torch.cuda.nccl.version()` unpacks it, and PyTorch writes it into the logs of its errors."""


def install_groups(torch: Any, peers: Peers, replacements: Replacements, is_with_cuda: bool) -> None:
    """Makes the backend `nccl` available, and lets process groups of GPUs name the processes that end.

    Args:
      torch: PyTorch.
      peers: the other processes.
      replacements: records the original attributes for removal.
      is_with_cuda: whether PyTorch was built with CUDA.
    """
    distributed: Any = torch.distributed.distributed_c10d
    backend = _backend(distributed)
    replacements.set(distributed, "_NCCL_AVAILABLE", True)
    replacements.set(torch._C, "_nccl_version", lambda: _VERSION)
    replacements.set(torch._C, "_nccl_version_suffix", lambda: b"")
    replacements.set(distributed, "default_pg_nccl_timeout", _TIMEOUT)
    replacements.set(torch.distributed.constants, "default_pg_nccl_timeout", _TIMEOUT)
    for module in (torch._C._distributed_c10d, distributed, torch.distributed):
        replacements.set(module, "ProcessGroupNCCL", backend)
    replacements.set(torch.distributed, "Logger", _logger(torch.distributed.Logger))
    if is_with_cuda:
        replacements.set(torch.distributed, "Reducer", _reducer(torch.distributed.Reducer))
    peers.install(distributed, replacements)


def _logger(logger: Any) -> type:
    """Returns the logger of `DistributedDataParallel` without its times on GPUs, which PyTorch's own timer measures."""

    class Logger(logger):
        """A logger that has no times if the model is on simulated GPUs."""

        has_times = True

        def set_runtime_stats_and_log(self) -> None:
            """Logs the times of an iteration."""
            if self.has_times:
                try:
                    logger.set_runtime_stats_and_log(self)
                except RuntimeError as error:
                    if "timer_" not in str(error):
                        raise
                    self.has_times = False

    return Logger


_TIMED, _NEVER = 10, (1 << 31) - 1
"""How many first iterations a reducer times, and a rate at which it times no later ones. Source: reducer.cpp."""


def _reducer(reducer: Any) -> type:
    """Returns the reducer of `DistributedDataParallel` without its times on GPUs, which a timer of CUDA measures."""

    class Reducer(reducer):
        """A reducer that is beyond its timed iterations if the model is on simulated GPUs."""

        def __init__(self, parameters: Any, *args: Any, **kwargs: Any) -> None:
            reducer.__init__(self, parameters, *args, **kwargs)
            if not parameters or not parameters[0].is_cuda:
                return
            self._set_ddp_runtime_logging_sample_rate(_NEVER)
            for _ in range(_TIMED):
                with suppress(RuntimeError):  # it has counted the iteration when the timer fails
                    self.prepare_for_forward()

    return Reducer


def _backend(distributed: Any) -> type:
    """Returns the class `ProcessGroupNCCL`, a gloo with NCCL's options."""
    gloo: Any = distributed.ProcessGroupGloo
    is_announced = False

    class ProcessGroupNCCL(gloo):
        """A gloo that is created with the options of NCCL."""

        class Options:
            """The options of NCCL, which gloo has no use for, except the timeout."""

            def __init__(self, is_high_priority_stream: bool = False) -> None:
                self.is_high_priority_stream = is_high_priority_stream
                self.config = SimpleNamespace()
                self.split_from: Any = None
                self.split_color = 0
                self.global_ranks_in_group: list[int] = []
                self.group_name = ""
                self._timeout = _TIMEOUT

        def __init__(self, store: Any, rank: int, size: int, options: Any = None) -> None:
            nonlocal is_announced
            if not is_announced:
                is_announced = True
                warnings.warn(_ANSWERED, RuntimeWarning, stacklevel=2)
            options = options or self.Options()
            gloo.__init__(self, store, rank, size, timeout=options._timeout)
            self.options.global_ranks_in_group = options.global_ranks_in_group
            self.options.group_name = options.group_name

    ProcessGroupNCCL.__module__, ProcessGroupNCCL.__qualname__ = distributed.__name__, "ProcessGroupNCCL"
    return ProcessGroupNCCL
