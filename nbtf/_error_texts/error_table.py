"""Which messages have one meaning, whatever their figures? Statuses of CUDA, missing drivers and libraries, kills."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from nbtf._error_texts import actions
from nbtf._error_texts.cleaning import pattern
from nbtf._error_texts.finding import Action

_LITERAL = re.compile(r"(?:[\w :,;'`#=!/<>&~-]|\\[^\w])+")

_DEVICES = Action("deviceCount", "torch.cuda.device_count()")
_RANGE = Action("labelRange", "labels.min(), labels.max(), model.num_classes")
_ON_CPU = Action("onCpu", 'model.to("cpu")(inputs.to("cpu"))')
_DRIVER_VERSION = Action("driverVersion", "nvidia-smi --query-gpu=name,driver_version --format=csv")
_ARCHITECTURES = Action("architectures", "torch.cuda.get_arch_list(), torch.cuda.get_device_capability()")
_INSTALL_TORCH = Action("installTorch", "pip install --upgrade torch")
_INSTALL_TENSORFLOW = Action("installTensorFlow", 'pip install --upgrade "tensorflow[and-cuda]"')
_BUILD = Action("torchBuild", "torch.__version__, torch.version.cuda, torch.cuda.is_available()")
_SPAWN = Action("spawn", 'torch.multiprocessing.set_start_method("spawn", force=True)')
_LIMITS = Action("workers", "DataLoader(dataset, num_workers=0)")
_SHARED = Action("sharedMemory", "docker run --shm-size=8g --gpus all IMAGE")
_NCCL = Action("ncclDebug", "NCCL_DEBUG=INFO torchrun program.py")
_VISIBLE = Action("visible", "echo $CUDA_VISIBLE_DEVICES")
_ECC = Action("eccCount", "nvidia-smi --query-gpu=ecc.errors.uncorrected.volatile.total --format=csv")
_SOFT = Action("softPlacement", "tf.config.set_soft_device_placement(True)")
_LISTED = Action("listDevices", "tf.config.list_logical_devices()")
_MAP_LOCATION = Action("mapLocation", 'torch.load(path, map_location="cpu")')
_SHORTER = Action("shorterKernels")
_CUDNN_OFF = Action("cudnnOff", "torch.backends.cudnn.enabled = False")
_LOADED = Action("libraryPath", 'python -c "import tensorflow as tf; print(tf.sysconfig.get_build_info())"')


class Row(NamedTuple):
    """A message.

    Attributes:
      name: name of the message, and of the text of its cause.
      library: what wrote it.
      wordings: its wordings, as regular expressions that begin with fixed words.
      causes: names of several causes, if the message does not decide between them.
      actions: lines to type.
    """

    name: str
    library: str
    wordings: tuple[str, ...]
    actions: Sequence[Action]
    causes: tuple[str, ...] = ()


def anchor_of(wording: str) -> str:
    r"""Returns the fixed words with which a wording begins, without spaces.

    >>> anchor_of(r"failed call to cuInit: (?P<status>CUDA_ERROR_\w+)")
    'failedcalltocuInit:'
    """
    match = _LITERAL.match(wording)
    assert match is not None
    words = match[0]
    return re.sub(r"\\(.)", r"\1", words).replace(" ", "")


_FULL = (actions.SMI, actions.HALVE, actions.DELETE)
_NAME = r"[\w.:/\[\]-]"

ROWS: Sequence[Row] = (
    Row(
        "deviceAssert",
        "CUDA",
        (
            "CUDA error: device-side assert triggered",
            "CUDA_ERROR_ASSERT",
            "cudaErrorAssert: device-side assert triggered",
        ),
        (_RANGE, _ON_CPU, actions.TRACE, actions.RESTART),
    ),
    Row(
        "assertion",
        "PyTorch",
        (r"thread: \[\d{1,9},\d{1,9},\d{1,9}\] Assertion `(?P<condition>[^`]{1,160})` failed\.",),
        (_RANGE, _ON_CPU, actions.RESTART),
    ),
    Row(
        "illegalAddress",
        "CUDA",
        (
            "CUDA error: an illegal memory access was encountered",
            "CUDA_ERROR_ILLEGAL_ADDRESS",
            "cudaErrorIllegalAddress: an illegal memory access",
            "CUDA error: misaligned address",
            "CUDA_ERROR_MISALIGNED_ADDRESS",
        ),
        (actions.TRACE, actions.SANITIZE, actions.RESTART),
    ),
    Row(
        "noKernelImage",
        "CUDA",
        (
            "CUDA error: no kernel image is available for execution on the device",
            "CUDA_ERROR_NO_BINARY_FOR_GPU",
            "CUDA error: device kernel image is invalid",
            r"The minimum required Cuda capability is \d\.\d",
            "cudaErrorNoKernelImageForDevice",
            r"with CUDA capability sm_(?P<capability>\d{2,3}) is not compatible with the current PyTorch installation",
        ),
        (_ARCHITECTURES, _INSTALL_TORCH, _DRIVER_VERSION),
    ),
    Row(
        "invalidOrdinal",
        "CUDA",
        ("CUDA error: invalid device ordinal", "CUDA_ERROR_INVALID_DEVICE", "cudaErrorInvalidDevice: invalid device"),
        (_DEVICES, _VISIBLE),
    ),
    Row("forked", "PyTorch", ("Cannot re-initialize CUDA in forked subprocess",), (_SPAWN,)),
    Row(
        "initializationError",
        "CUDA",
        ("CUDA error: initialization error", "CUDA_ERROR_NOT_INITIALIZED", "cudaErrorInitializationError"),
        (_SPAWN, actions.SMI),
        ("initializationForked", "initializationDriver"),
    ),
    Row(
        "launchTimeout",
        "CUDA",
        ("CUDA error: the launch timed out and was terminated", "CUDA_ERROR_LAUNCH_TIMEOUT", "cudaErrorLaunchTimeout"),
        (_SHORTER, actions.SMI),
    ),
    Row(
        "launchFailure",
        "CUDA",
        ("CUDA error: unspecified launch failure", "CUDA_ERROR_LAUNCH_FAILED", "cudaErrorLaunchFailure"),
        (actions.TRACE, actions.SANITIZE, _ECC),
        ("launchAccess", "launchHardware"),
    ),
    Row(
        "launchConfiguration",
        "CUDA",
        ("CUDA error: invalid configuration argument", "CUDA error: too many resources requested for launch"),
        (actions.HALVE, actions.TRACE),
    ),
    Row(
        "capture",
        "CUDA",
        (
            "CUDA error: operation not permitted when stream is capturing",
            "CUDA error: operation failed due to a previous error during capture",
        ),
        (Action("fewerGraphs", 'model = torch.compile(model, mode="default")'), actions.TRACE),
    ),
    Row(
        "driverTooOld",
        "CUDA",
        (
            "CUDA driver version is insufficient for CUDA runtime version",
            r"The NVIDIA driver on your system is too old \(found version (?P<version>\d{4,6})\)",
            "CUDA error: the provided PTX was compiled with an unsupported toolchain",
            "CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
        ),
        (_DRIVER_VERSION, _BUILD),
    ),
    Row(
        "noDevice",
        "CUDA",
        (
            "no CUDA-capable device is detected",
            "cudaErrorNoDevice",
            "RuntimeError: No CUDA GPUs are available",
            "RuntimeError: No HIP GPUs are available",
        ),
        (actions.SMI, _VISIBLE),
    ),
    Row("noDriver", "PyTorch", ("Found no NVIDIA driver on your system",), (actions.SMI, _BUILD)),
    Row(
        "torchWithoutCuda", "PyTorch", ("Torch not compiled with CUDA enabled",), (_BUILD, actions.SMI, _INSTALL_TORCH)
    ),
    Row(
        "deserialize",
        "PyTorch",
        (
            r"Attempting to deserialize object on a CUDA device but torch\.cuda\.is_available\(\) is False",
            r"Attempting to deserialize object on CUDA device (?P<device>\d{1,4}) but torch\.cuda\.device_count\(\) is "
            r"(?P<count>\d{1,4})\.",
        ),
        (_MAP_LOCATION, _BUILD),
    ),
    Row(
        "ecc",
        "CUDA",
        (
            "CUDA error: uncorrectable ECC error encountered",
            "uncorrectable ECC error encountered",
            "CUDA_ERROR_ECC_UNCORRECTABLE",
        ),
        (_ECC, Action("resetCard", "sudo nvidia-smi --gpu-reset -i 0")),
    ),
    Row(
        "cardBusy",
        "CUDA",
        ("CUDA error: all CUDA-capable devices are busy or unavailable", "cudaErrorDevicesUnavailable"),
        (actions.PROCESSES, Action("computeMode", "nvidia-smi --query-gpu=compute_mode --format=csv")),
    ),
    Row(
        "fabricManager",
        "CUDA",
        ("CUDA error: system not yet initialized", "cudaErrorSystemNotReady", "CUDA_ERROR_SYSTEM_NOT_READY"),
        (Action("fabricManager", "systemctl status nvidia-fabricmanager"),),
    ),
    Row(
        "cudaUnknown",
        "CUDA",
        ("CUDA error: unknown error", "CUDA unknown error - this may be due to an incorrectly set up environment"),
        (actions.SMI, _VISIBLE, actions.RESTART),
        ("cudaUnknownDriver", "cudaUnknownOrder"),
    ),
    Row(
        "noFigures",
        "CUDA",
        (
            "CUDA error: out of memory",
            "CUDA_ERROR_OUT_OF_MEMORY",
            "cudaErrorMemoryAllocation",
            "HIP error: out of memory",
            "hipErrorOutOfMemory",
        ),
        (actions.PROCESSES, actions.kill("PID"), actions.HALVE),
        ("noFiguresOther", "noFiguresOwn"),
    ),
    Row("cublasAlloc", "cuBLAS", ("CUBLAS_STATUS_ALLOC_FAILED",), _FULL),
    Row(
        "cublasNotInitialized",
        "cuBLAS",
        (
            "CUBLAS_STATUS_NOT_INITIALIZED",
            "Blas GEMM launch failed",
            "Blas xGEMM launch failed",
            "Attempting to perform BLAS operation using StreamExecutor without BLAS support",
        ),
        (actions.SMI, actions.HALVE, _RANGE, actions.TRACE),
        ("cublasFull", "cublasEarlier"),
    ),
    Row(
        "cublasExecution",
        "cuBLAS",
        ("CUBLAS_STATUS_EXECUTION_FAILED", "CUBLAS_STATUS_INTERNAL_ERROR"),
        (actions.TRACE, _ON_CPU),
    ),
    Row(
        "cublasUnsupported",
        "cuBLAS",
        ("CUBLAS_STATUS_NOT_SUPPORTED", "CUBLAS_STATUS_ARCH_MISMATCH", "CUBLAS_STATUS_INVALID_VALUE"),
        (_BUILD, _ON_CPU),
    ),
    Row("cudnnAlloc", "cuDNN", ("CUDNN_STATUS_ALLOC_FAILED",), _FULL),
    Row(
        "cudnnAlgorithm",
        "cuDNN",
        (
            "Unable to find a valid cuDNN algorithm to run convolution",
            "FIND was unable to find an engine to execute this computation",
        ),
        _FULL,
    ),
    Row(
        "cudnnNotInitialized",
        "cuDNN",
        (
            "CUDNN_STATUS_NOT_INITIALIZED",
            "CUDNN_STATUS_INTERNAL_ERROR",
            "Failed to get convolution algorithm. This is probably because cuDNN failed to initialize",
        ),
        (actions.SMI, actions.HALVE, Action("growth", "export TF_FORCE_GPU_ALLOW_GROWTH=true"), _BUILD),
        ("cudnnFull", "cudnnVersions"),
    ),
    Row(
        "cudnnVersion",
        "cuDNN",
        (
            "CUDNN_STATUS_VERSION_MISMATCH",
            "CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH",
            "CUDNN_STATUS_ARCH_MISMATCH",
            "Loaded runtime CuDNN library:",
        ),
        (Action("cudnnVersion", "torch.backends.cudnn.version()"), _INSTALL_TORCH),
    ),
    Row(
        "cudnnExecution",
        "cuDNN",
        ("CUDNN_STATUS_EXECUTION_FAILED", "CUDNN_STATUS_MAPPING_ERROR"),
        (actions.TRACE, actions.SMI, _CUDNN_OFF),
    ),
    Row(
        "cudnnUnsupported",
        "cuDNN",
        ("CUDNN_STATUS_NOT_SUPPORTED", "CUDNN_STATUS_BAD_PARAM"),
        (Action("contiguous", "inputs = inputs.contiguous()"), _CUDNN_OFF),
    ),
    Row(
        "ncclMemory",
        "NCCL",
        (
            r"Cuda failure (?:\d{1,4} )?'out of memory'",
            r"NCCL WARN Cuda failure (?:\d{1,4} )?'out of memory'",
        ),
        (actions.SMI, Action("ncclBuffers", "export NCCL_BUFFSIZE=1048576"), actions.HALVE, _NCCL),
    ),
    Row(
        "ncclCuda",
        "NCCL",
        ("ncclUnhandledCudaError: Call to CUDA function failed", "NCCL error: unhandled cuda error"),
        (_NCCL, actions.SMI, _DEVICES),
    ),
    Row(
        "ncclSystem",
        "NCCL",
        ("ncclSystemError: System call", "NCCL error: unhandled system error"),
        (_NCCL, _SHARED, Action("ncclInterface", "export NCCL_SOCKET_IFNAME=eth0")),
    ),
    Row(
        "ncclTimeout",
        "PyTorch",
        ("Watchdog caught collective operation timeout",),
        (_NCCL, actions.SMI),
        ("ncclTimeoutRank", "ncclTimeoutSlow"),
    ),
    Row(
        "jaxDevices",
        "JAX",
        ("Received incompatible devices for jitted computation",),
        (Action("devicePut", "x = jax.device_put(x, jax.devices()[0])"),),
    ),
    Row(
        "metaDevice",
        "PyTorch",
        ("Cannot copy out of meta tensor; no data!",),
        (Action("materialize", 'model = model.to_empty(device="cuda")'),),
    ),
    Row(
        "mpsPlaceholder",
        "PyTorch",
        ("Placeholder storage has not been allocated on MPS device!",),
        (Action("moveTensorMps", 'inputs = inputs.to("mps")'),),
    ),
    Row("notFailure", "TensorFlow", ("The caller indicates that this is not a failure",), (actions.SMI,)),
    Row(
        "largeAllocation",
        "TensorFlow",
        (r"Allocation of (?P<bytes>\d{1,20}) exceeds 10% of (?:free )?system memory",),
        (actions.FILES, actions.SMALLER),
    ),
    Row(
        "harmless",
        "TensorFlow",
        (
            "Unable to register cuDNN factory: Attempting to register factory for plugin cuDNN",
            "Unable to register cuFFT factory: Attempting to register factory for plugin cuFFT",
            "Unable to register cuBLAS factory: Attempting to register factory for plugin cuBLAS",
            r"successful NUMA node read from SysFS had negative value \(-1\)",
            "TF-TRT Warning: Could not find TensorRT",
        ),
        (),
    ),
    Row(
        "libraryMissing",
        "TensorFlow",
        (r"Could not load dynamic library '(?P<file>[\w.+-]{1,60})'", r"libdevice not found at \./libdevice\.10\.bc"),
        (_INSTALL_TENSORFLOW, _LOADED),
    ),
    Row(
        "librariesMissing",
        "TensorFlow",
        (r"Cannot dlopen some GPU libraries\.",),
        (_INSTALL_TENSORFLOW, _LOADED),
    ),
    Row(
        "driversMissing",
        "TensorFlow",
        ("Could not find cuda drivers on your machine, GPU will not be used",),
        (actions.SMI, _INSTALL_TENSORFLOW),
    ),
    Row(
        "cannotAssign",
        "TensorFlow",
        (
            rf"Cannot assign a device for operation (?P<op>{_NAME}{{1,200}}?): [^']{{0,300}}?"
            r"Could not satisfy explicit device specification '(?P<device>[^']{0,120})'",
            rf"Cannot assign a device for operation (?P<op>{_NAME}{{1,200}}?): [^']{{0,200}}?was explicitly assigned "
            r"to (?P<device>/[\w:/]{1,120}?) but available devices are",
            r"Could not satisfy (?:explicit )?device specification '(?P<device>[^']{0,120})'",
        ),
        (_LISTED, _SOFT),
    ),
    Row(
        "dnnMissing",
        "TensorFlow",
        ("DNN library is not found", "DNN library initialization failed"),
        (actions.SMI, _INSTALL_TENSORFLOW, Action("growth", "export TF_FORCE_GPU_ALLOW_GROWTH=true")),
        ("cudnnFull", "cudnnVersions"),
    ),
    Row(
        "cuInit",
        "TensorFlow",
        (
            r"failed call to cuInit: (?:INTERNAL: CUDA error: Failed call to cuInit: )?"
            r"(?P<status>CUDA_ERROR_[A-Z_]{1,40}|UNKNOWN ERROR \(\d{1,4}\))"
            r"(?:: no CUDA-capable device is detected)?",
        ),
        (actions.SMI, _VISIBLE, _DRIVER_VERSION),
    ),
    Row(
        "destination",
        "TensorFlow",
        (r"Dst tensor is not initialized\.",),
        (
            actions.SMI,
            actions.HALVE,
            Action("clearSession", "del model; gc.collect(); tf.keras.backend.clear_session()"),
        ),
    ),
    Row(
        "smiFailed",
        "nvidia-smi",
        (
            "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver",
            "Failed to initialize NVML: Driver/library version mismatch",
        ),
        (Action("reloadDriver", "sudo reboot"), Action("driverModule", "cat /proc/driver/nvidia/version")),
    ),
    Row(
        "slurmKill",
        "Slurm",
        (
            r"error: Detected (?P<n>\d{1,9}) oom[-_]kill event",
            r"slurmstepd: error: Exceeded (?:job|step) memory limit",
        ),
        (Action("slurmMemory", "sbatch --mem=64G job.sh"), _LIMITS, actions.HALVE),
    ),
    Row(
        "containerKill",
        "Kubernetes",
        (r"Reason: OOMKilled Exit Code: 137",),
        (Action("containerMemory", "kubectl describe pod NAME"), _LIMITS, actions.HALVE),
    ),
    Row(
        "workerKilled",
        "PyTorch",
        (r"DataLoader worker \(pid (?P<pid>\d{1,10})\) is killed by signal: Killed",),
        (actions.FILES, _LIMITS),
    ),
    Row(
        "sharedMemory",
        "PyTorch",
        (
            r"DataLoader worker \(pid (?P<pid>\d{1,10})\) is killed by signal: Bus error",
            "It is possible that dataloader's workers are out of shared memory",
        ),
        (_SHARED, _LIMITS),
    ),
)


class Wording(NamedTuple):
    """A wording of a message, ready to be searched."""

    row: Row
    anchor: str
    pattern: re.Pattern[str]


WORDINGS: Sequence[Wording] = tuple(
    Wording(row, anchor_of(wording), pattern(wording)) for row in ROWS for wording in row.wordings
)
