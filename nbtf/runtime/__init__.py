"""`tf.runtime`, nbtf's own namespace: simulated GPUs, runtime state and recordings, and restarts."""

from __future__ import annotations

from importlib import import_module as _import_module
from typing import TYPE_CHECKING
from typing import Any as _Any

from nbtf._devices.first_use import Compiling as Compiling
from nbtf._devices.names import short_name as short_name
from nbtf._devices.names import without_cuda as without_cuda
from nbtf._devices.nvml import CardMonitor as CardMonitor
from nbtf._devices.nvml import CardProcess as CardProcess
from nbtf._devices.nvml import CardReading as CardReading
from nbtf._devices.processes import ProcessOwner as ProcessOwner
from nbtf._devices.processes import process_owner as process_owner
from nbtf._install import VERSION as _VERSION
from nbtf._public import public_names as _public_names
from nbtf._record.density import Densities as Densities
from nbtf._record.density import Density as Density
from nbtf._record.events import Allocated as Allocated
from nbtf._record.events import Copied as Copied
from nbtf._record.events import Event as Event
from nbtf._record.events import Freed as Freed
from nbtf._record.events import Label as Label
from nbtf._record.events import OpExecuted as OpExecuted
from nbtf._record.events import OpPlaced as OpPlaced
from nbtf._record.events import OutputSpec as OutputSpec
from nbtf._record.events import Reason as Reason
from nbtf._record.events import Refused as Refused
from nbtf._record.events import Rule as Rule
from nbtf._record.events import Site as Site
from nbtf._record.events import Traced as Traced
from nbtf._record.queries import Fact as Fact
from nbtf._record.queries import Lines as Lines
from nbtf._record.queries import Work as Work
from nbtf._record.recorder import Recorder as Recorder
from nbtf._record.recorder import Scene as Scene
from nbtf._record.recorder import Snapshot as Snapshot
from nbtf._record.replay import MemoryReplay as MemoryReplay
from nbtf._runtime.blocks import end_cell as end_cell
from nbtf._runtime.expectations import ExpectationError as ExpectationError
from nbtf._runtime.expectations import MemoryUse as MemoryUse
from nbtf._runtime.expectations import copies_of_tensors as copies_of_tensors
from nbtf._runtime.expectations import exact as exact
from nbtf._runtime.expectations import size_in_bytes as size_in_bytes
from nbtf._runtime.explanation import Explanation as Explanation
from nbtf._runtime.explanation import explain_placement as explain_placement
from nbtf._runtime.fitting import Fit as Fit
from nbtf._runtime.holding import Holding as Holding
from nbtf._runtime.inventory import DeviceInfo as DeviceInfo
from nbtf._runtime.inventory import MemoryMap as MemoryMap
from nbtf._runtime.inventory import devices as devices
from nbtf._runtime.inventory import memory_map as memory_map
from nbtf._runtime.inventory import memory_pieces as memory_pieces
from nbtf._runtime.inventory import physical_devices as physical_devices
from nbtf._runtime.placement import in_words as in_words
from nbtf._runtime.what_ifs import RefusedRequest as RefusedRequest
from nbtf._runtime.what_ifs import WhatIf as WhatIf
from nbtf.runtime._cluster import AllReduceTimes as AllReduceTimes
from nbtf.runtime._cluster import all_reduce_times as all_reduce_times
from nbtf.runtime._gpu_in_use import is_gpu_in_use as is_gpu_in_use
from nbtf.runtime._libraries import compiled_memory as compiled_memory
from nbtf.runtime._libraries import frameworks as frameworks
from nbtf.runtime._libraries import holding as holding
from nbtf.runtime._libraries import watch as watch
from nbtf.runtime._machine import compiling as compiling
from nbtf.runtime._machine import restart as restart
from nbtf.runtime._machine import simulate_cluster as simulate_cluster
from nbtf.runtime._machine import simulate_gpus as simulate_gpus
from nbtf.runtime._machine import warmup as warmup
from nbtf.runtime._presentation import present_as_tensorflow as present_as_tensorflow
from nbtf.runtime._recordings import Recording as Recording
from nbtf.runtime._recordings import observe as observe
from nbtf.runtime._recordings import recording as recording
from nbtf.runtime._recordings import start_recorder as start_recorder
from nbtf.runtime._settings import cell_device as cell_device
from nbtf.runtime._settings import get_default_device as get_default_device
from nbtf.runtime._settings import placement_log_style as placement_log_style
from nbtf.runtime._settings import set_default_device as set_default_device
from nbtf.runtime._settings import tell_code_lines as tell_code_lines

if TYPE_CHECKING:
    from nbtf._cluster.look import CardHolder as CardHolder
    from nbtf._cluster.look import ClusterLook as ClusterLook
    from nbtf._cluster.look import HostReport as HostReport
    from nbtf._cluster.look import WorkerReport as WorkerReport
    from nbtf._cluster.look import look_at_cluster as look_at_cluster
    from nbtf._cluster.status import TaskStatus as TaskStatus
    from nbtf._cluster.status import cluster_tasks as cluster_tasks
    from nbtf._frameworks.base import Arrays as Arrays
    from nbtf._frameworks.base import Card as Card
    from nbtf.runtime._comparison import compare_recordings as compare_recordings
    from nbtf.runtime._opened import OpenedRecording as OpenedRecording
    from nbtf.runtime._opened import read_recording as read_recording
    from nbtf.runtime._opened import read_trace as read_trace
    from nbtf.runtime._snapshots import OpenedSnapshot as OpenedSnapshot
    from nbtf.runtime._snapshots import read_snapshot as read_snapshot

version: str = _VERSION
"""nbtf's own version; `tf.__version__` is the TensorFlow version whose behaviour it follows."""

__version__ = version


_FETCHED_ON_FIRST_USE = {
    "CardHolder": "nbtf._cluster.look",
    "ClusterLook": "nbtf._cluster.look",
    "HostReport": "nbtf._cluster.look",
    "WorkerReport": "nbtf._cluster.look",
    "look_at_cluster": "nbtf._cluster.look",
    "TaskStatus": "nbtf._cluster.status",
    "cluster_tasks": "nbtf._cluster.status",
    "compare_recordings": "nbtf.runtime._comparison",
    "OpenedRecording": "nbtf.runtime._opened",
    "read_recording": "nbtf.runtime._opened",
    "read_trace": "nbtf.runtime._opened",
    "OpenedSnapshot": "nbtf.runtime._snapshots",
    "read_snapshot": "nbtf.runtime._snapshots",
}
"""Names for work with other machines, and with files; loaded on first use."""

if not TYPE_CHECKING:

    def __getattr__(name: str) -> _Any:
        if name in _FETCHED_ON_FIRST_USE:
            return globals().setdefault(name, getattr(_import_module(_FETCHED_ON_FIRST_USE[name]), name))
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*_public_names(__name__), *_FETCHED_ON_FIRST_USE})
