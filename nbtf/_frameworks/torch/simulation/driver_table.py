"""The answer of simulated devices to each driver function of PyTorch: simulated, no-op or refused.

The table names every function `torch._C._cuda_*` of the supported releases, without that prefix. Functions that only
ask or release something never fail: programs and libraries call them without being asked to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Literal, NamedTuple

_POOLS = "memory pools and CUDA graphs belong to a real card"
_ALLOCATORS = "the allocator of a simulated GPU is part of nbtf and cannot be replaced"
_ADDRESSES = "no CUDA library is loaded, so no address of its objects exists"
_TUNING = "no kernels of a card run, so none can be tuned"
_NO_WORKSPACE = "no cuBLAS library is loaded, so it has no workspace"
_NO_METADATA = "the memory history of simulated GPUs contains no metadata and calls no observer"
_AT_ONCE = "every op is finished when it returns"
_PINNED = "pinned memory is not counted"


class Answer(NamedTuple):
    """How simulated devices answer calls of a driver function."""

    support: Literal["simulated", "no-op", "refused"]
    reason: str = ""
    """Why nothing happens, or why the call is refused."""
    returned: Any = None
    """The value that a no-op returns."""


def _simulated(names: str) -> Iterator[tuple[str, Answer]]:
    for name in names.split():
        yield name, Answer("simulated")


def _no_op(names: str, reason: str, returned: Any = None) -> Iterator[tuple[str, Answer]]:
    for name in names.split():
        yield name, Answer("no-op", reason, returned)


def _refused(names: str, reason: str) -> Iterator[tuple[str, Answer]]:
    for name in names.split():
        yield name, Answer("refused", reason)


def _table(*groups: Iterable[tuple[str, Answer]]) -> Mapping[str, Answer]:
    return {name: answer for group in groups for name, answer in group}


ANSWERS: Mapping[str, Answer] = _table(
    _simulated(
        "init getDeviceCount getDevice setDevice exchangeDevice maybeExchangeDevice canDeviceAccessPeer isInBadFork"
        " getArchFlags hasPrimaryContext getCompiledVersion sleep"
    ),
    _simulated("getCurrentStream getCurrentRawStream getDefaultStream setStream"),
    _simulated(
        "memoryStats resetPeakMemoryStats resetAccumulatedMemoryStats emptyCache setMemoryFraction getMemoryFraction"
        " memorySnapshot hostMemoryStats cudaCachingAllocator_raw_alloc cudaCachingAllocator_raw_delete"
    ),
    _simulated("cudaCachingAllocator_enable set_sync_debug_mode get_cudnn_benchmark_limit set_cudnn_benchmark_limit"),
    _simulated("tunableop_enable tunableop_tuning_enable record_untuned_enable"),
    _simulated("record_memory_history record_memory_history_legacy isHistoryEnabled"),
    _no_op("synchronize", _AT_ONCE),
    _no_op("get_sync_debug_mode", _AT_ONCE, 0),
    _no_op("resetPeakHostMemoryStats resetAccumulatedHostMemoryStats", _PINNED),
    _no_op("lock_mutex unlock_mutex", "no kernel runs while memory is allocated"),
    _no_op("ipc_collect", "no memory is shared between processes"),
    _no_op("isCurrentStreamCapturing", "no CUDA graph is captured", False),
    _no_op("getMemoryMetadata", _NO_METADATA, ""),
    _no_op("getAllocatorBackend", "the simulated allocator follows PyTorch's own", "native"),
    _no_op("cudaCachingAllocator_is_enabled", "simulated GPUs always use a caching allocator", True),
    _no_op("clearCublasWorkspaces resetCublasWorkspaceSize resetCublasLtWorkspaceSize", _NO_WORKSPACE),
    _no_op("getCublasWorkspaceSize getCublasLtWorkspaceSize", _NO_WORKSPACE, 0),
    _no_op("get_conv_benchmark_empty_cache", "no convolution is benchmarked", False),
    _no_op("tunableop_is_enabled tunableop_tuning_is_enabled record_untuned_is_enabled", _TUNING, False),
    _no_op("tunableop_get_results tunableop_get_validators", _TUNING, ()),
    _refused("setCublasWorkspaceSize setCublasLtWorkspaceSize", _NO_WORKSPACE),
    _refused(
        "beginAllocateToPool beginAllocateCurrentStreamToPool beginAllocateCurrentThreadToPool endAllocateToPool"
        " releasePool checkPoolLiveAllocations getCheckpointState setCheckpointPoolState",
        _POOLS,
    ),
    _refused(
        "CUDAAllocator CUDAAllocator_AllocatorState getAllocator customAllocator changeCurrentAllocator"
        " cudaHostAllocator",
        _ALLOCATORS,
    ),
    _refused("getCurrentBlasHandle getCurrentSolverHandle getStreamFromExternal", _ADDRESSES),
    _refused("allocationTraceback", "addresses of tensors are those of this computer's memory"),
    _refused("setMemoryMetadata attach_out_of_memory_observer", _NO_METADATA),
    _refused("cudaCachingAllocator_set_allocator_settings", "its allocator reads PYTORCH_CUDA_ALLOC_CONF only once"),
    _refused("busy_wait_for_flag clear_flag", "no kernels of a card run, so none can wait"),
    _refused("getHipblasltVersion", "this PyTorch was built without ROCm"),
    _refused("jiterator_compile_and_launch_kernel", "CUDA C++ does not run on this computer's CPU"),
    _refused(
        "tunableop_set_max_tuning_duration tunableop_get_max_tuning_duration tunableop_set_max_tuning_iterations"
        " tunableop_get_max_tuning_iterations tunableop_set_filename tunableop_get_filename tunableop_read_file"
        " tunableop_set_rotating_buffer_size tunableop_get_rotating_buffer_size"
        " tunableop_get_rotation_buffer_size tunableop_set_numerical_check_tolerances tunableop_write_file"
        " tunableop_write_file_on_exit",
        _TUNING,
    ),
)
"""The answers by name."""


def no_ops() -> dict[str, Callable[..., Any]]:
    """Returns the functions that do nothing, by name."""
    return {name: _returning(answer.returned) for name, answer in ANSWERS.items() if answer.support == "no-op"}


def reason_of(name: str) -> str:
    """Returns why a driver function is refused, or a general reason for names outside the table."""
    answer = ANSWERS.get(name.removeprefix("_cuda_"))
    return answer.reason if answer is not None and answer.reason else "it calls the driver of a real card"


def _returning(value: Any) -> Callable[..., Any]:
    def answer(*_args: Any, **_kwargs: Any) -> Any:
        return value

    return answer
