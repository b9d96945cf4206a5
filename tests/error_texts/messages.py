"""Error texts with the cause that each shows. The wordings are those of the libraries; all figures are our own."""

from __future__ import annotations

from typing import NamedTuple


class Case(NamedTuple):
    """A text, and the names of its causes; several if its figures do not decide."""

    text: str
    causes: tuple[str, ...]


_HINT_OLD = (
    " If reserved memory is >> allocated memory try setting max_split_size_mb to avoid fragmentation.  See "
    "documentation for Memory Management and PYTORCH_CUDA_ALLOC_CONF"
)
_HINT_NEW = (
    " If reserved but unallocated memory is large try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to "
    "avoid "
    "fragmentation.  See documentation for Memory Management  (https://pytorch.org/docs/stable/notes/cuda.html)"
)
_PIDS = "| Processes:                                                                            |\n"


def _smi(used: str, total: str, busy: str, processes: str | None, driver: str = "535.104.05") -> str:
    """The output of `nvidia-smi` for one card."""
    rows = (
        ""
        if processes is None
        else f"+---+\n{_PIDS}|  GPU   GI   CI        PID   Type   Process name  |\n{processes}\n+---+"
    )
    return (
        f"| NVIDIA-SMI {driver}   Driver Version: {driver}   CUDA Version: 12.2     |\n"
        "|-----------------------------------------+----------------------+----------------------+\n"
        "| GPU  Name                 Persistence-M | Bus-Id        Disp.A | Volatile Uncorr. ECC |\n"
        "|   0  NVIDIA A30                     Off | 00000000:5E:00.0 Off |                    0 |\n"
        f"| N/A   41C    P0              33W / 165W |  {used}MiB / {total}MiB |    {busy}      Default |\n"
        f"|                                         |                      |             Disabled |\n{rows}"
    )


_DUMP = """2024-05-06 07:08:09.101112: W tensorflow/tsl/framework/bfc_allocator.cc:485] Allocator (GPU_0_bfc) ran out \
of memory trying to allocate {request} (rounded to {need})requested by op Conv2D
I tensorflow/tsl/framework/bfc_allocator.cc:1090] Next region of size 4194304
I tensorflow/tsl/framework/bfc_allocator.cc:1110] InUse at 7f0000000000 of size 1048576 next 1
I tensorflow/tsl/framework/bfc_allocator.cc:1110] Free  at 7f0000100000 of size 1048576 next 2
I tensorflow/tsl/framework/bfc_allocator.cc:1110] InUse at 7f0000200000 of size 1048576 next 3
I tensorflow/tsl/framework/bfc_allocator.cc:1110] Free  at 7f0000300000 of size 1048576 next 18446744073709551615
I tensorflow/tsl/framework/bfc_allocator.cc:1119] 2 Chunks of size 1048576 totalling 2.00MiB
I tensorflow/tsl/framework/bfc_allocator.cc:1123] Sum Total of in-use chunks: 2.00MiB
I tensorflow/tsl/framework/bfc_allocator.cc:1127] Stats:
Limit:                       {limit}
InUse:                       2097152
MaxInUse:                    3145728
NumAllocs:                        17
MaxAllocSize:                1048576
"""

CASES: tuple[Case, ...] = (
    # PyTorch, before 2.1
    Case(
        "RuntimeError: CUDA out of memory. Tried to allocate 26.00 MiB (GPU 0; 11.91 GiB total capacity; 10.98 GiB "
        "already allocated; 9.50 MiB free; 11.22 GiB reserved in total by PyTorch)",
        ("cardFull",),
    ),
    Case(
        "RuntimeError: CUDA out of memory. Tried to allocate 1.50 GiB (GPU 2; 15.77 GiB total capacity; 9.20 GiB "
        "already "
        "allocated; 402.00 MiB free; 14.10 GiB reserved in total by PyTorch)" + _HINT_OLD,
        ("fragmentation",),
    ),
    Case(
        "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 40.00 GiB (GPU 0; 23.70 GiB total "
        "capacity; "
        "1.20 GiB already allocated; 21.10 GiB free; 1.30 GiB reserved in total by PyTorch)" + _HINT_OLD,
        ("requestExceedsCard",),
    ),
    Case(
        "RuntimeError: CUDA out of memory. Tried to allocate 3.00 GiB (GPU 0; 24.00 GiB total capacity; 2.00 GiB "
        "already "
        "allocated; 20.80 GiB free; 4.80 GiB allowed; 2.20 GiB reserved in total by PyTorch)" + _HINT_OLD,
        ("fractionLimit",),
    ),
    Case(
        "RuntimeError: CUDA out of memory. Tried to allocate 1.10 GiB (GPU 1; 10.76 GiB total capacity; 1.90 GiB "
        "already "
        "allocated; 310.00 MiB free; 2.00 GiB reserved in total by PyTorch)",
        ("otherProcess",),
    ),
    Case(
        "RuntimeError: CUDA out of memory. Tried to allocate 2.40 GiB (GPU 0; 6.00 GiB total capacity; 700.10 MiB "
        "already "
        "allocated; 4.10 GiB free; 800.00 MiB reserved in total by PyTorch)",
        ("releasedMeanwhile", "driverRefused"),
    ),
    Case(
        "RuntimeError: CUDA out of memory. Tried to allocate 96.00 MiB (GPU 0; 3.95 GiB total capacity; 3.20 GiB "
        "already "
        "allocated; 41.00 MiB free; 12.00 MiB cached)",
        ("cardFull",),
    ),
    Case(
        "RuntimeError: HIP out of memory. Tried to allocate 20.00 MiB (GPU 0; 7.98 GiB total capacity; 7.40 GiB "
        "already "
        "allocated; 6.00 MiB free; 7.60 GiB reserved in total by PyTorch)",
        ("cardFull",),
    ),
    # PyTorch, from 2.1
    Case(
        "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 512.00 MiB. GPU 0 has a total capacty of "
        "15.89 GiB of which 201.12 MiB is free. Including non-PyTorch memory, this process has 15.69 GiB memory in "
        "use. "
        "Of the allocated memory 14.90 GiB is allocated by PyTorch, and 180.22 MiB is reserved by PyTorch but "
        "unallocated. If reserved but unallocated memory is large try setting max_split_size_mb",
        ("cardFull",),
    ),
    Case(
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.20 GiB. GPU 3 has a total capacity of 79.25 "
        "GiB "
        "of which 1.10 GiB is free. Including non-PyTorch memory, this process has 78.14 GiB memory in use. Of the "
        "allocated memory 60.00 GiB is allocated by PyTorch, and 17.40 GiB is reserved by PyTorch but unallocated."
        + _HINT_NEW,
        ("fragmentation",),
    ),
    Case(
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.00 GiB. GPU 0 has a total capacity of 39.39 "
        "GiB "
        "of which 320.00 MiB is free. Process 4021 has 30.10 GiB memory in use. Including non-PyTorch memory, this "
        "process has 8.96 GiB memory in use. Of the allocated memory 8.20 GiB is allocated by PyTorch, and 210.00 MiB "
        "is reserved by PyTorch but unallocated." + _HINT_NEW,
        ("otherProcess",),
    ),
    Case(
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 768.00 MiB. GPU 0 has a total capacity of "
        "23.64 GiB of which 90.00 MiB is free. Process 11 has 6.00 GiB memory in use. Process 12 has 5.90 GiB memory "
        "in "
        "use. Process 13 has 5.80 GiB memory in use. Including non-PyTorch memory, this process has 5.85 GiB memory in "
        "use. Of the allocated memory 5.30 GiB is allocated by PyTorch, and 60.00 MiB is reserved by PyTorch but "
        "unallocated." + _HINT_NEW,
        ("otherProcess",),
    ),
    Case(
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.10 "
        "GiB "
        "of which 60.00 GiB is free. Including non-PyTorch memory, this process has 19.10 GiB memory in use. "
        "19.78 GiB allowed; Of the allocated memory 18.00 GiB is allocated by PyTorch, and 400.00 MiB is reserved by "
        "PyTorch but unallocated." + _HINT_NEW,
        ("fractionLimit",),
    ),
    Case(
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 9.00 GiB. GPU 0 has a total capacity of 23.60 "
        "GiB "
        "of which 22.00 GiB is free. 7.08 GiB allowed; Of the allocated memory 0 bytes is allocated by PyTorch, and "
        "0 bytes is reserved by PyTorch but unallocated." + _HINT_NEW,
        ("requestExceedsAllowed",),
    ),
    Case(
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 88.20 GiB. GPU 0 has a total capacity of "
        "79.11 GiB of which 70.55 GiB is free. Including non-PyTorch memory, this process has 8.54 GiB memory in use. "
        "Of the allocated memory 7.90 GiB is allocated by PyTorch, and 90.00 MiB is reserved by PyTorch but "
        "unallocated.",
        ("requestExceedsCard",),
    ),
    Case(
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.25 GiB. GPU 0 has a total capacity of 44.40 "
        "GiB "
        "of which 200.00 MiB is free. Including non-PyTorch memory, this process has 44.20 GiB memory in use. Of the "
        "allocated memory 42.90 GiB is allocated by PyTorch, with 31.00 GiB allocated in private pools (e.g., CUDA "
        "Graphs), and 500.00 MiB is reserved by PyTorch but unallocated." + _HINT_NEW,
        ("privatePools",),
    ),
    Case(
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 47.50 "
        "GiB "
        "of which 500.00 MiB is free. Including non-PyTorch memory, this process has 47.01 GiB memory in use. Of the "
        "allocated memory 20.00 GiB is allocated by PyTorch, and 300.00 MiB is reserved by PyTorch but unallocated.",
        ("outsidePyTorch",),
    ),
    Case(
        "torch.OutOfMemoryError: HIP out of memory. Tried to allocate 4.00 GiB. GPU 0 has a total capacity of 63.98 "
        "GiB "
        "of which 1.00 GiB is free. Of the allocated memory 45.00 GiB is allocated by PyTorch, and 16.70 GiB is "
        "reserved "
        "by PyTorch but unallocated. If reserved but unallocated memory is large try setting "
        "PYTORCH_HIP_ALLOC_CONF=expandable_segments:True to avoid fragmentation.",
        ("fragmentation",),
    ),
    Case(
        "torch.OutOfMemoryError: XPU out of memory. Tried to allocate 5.20 GiB. GPU 0 has a total capacity of 15.90 "
        "GiB "
        "of which 15.70 GiB is free. Of the allocated memory 20.00 MiB is allocated by PyTorch, and 2.00 MiB is "
        "reserved "
        "by PyTorch but unallocated. Please use `empty_cache` to release all unoccupied cached memory.",
        ("oneAllocation",),
    ),
    Case(
        "RuntimeError: XPU out of memory. Tried to allocate 900.00 MiB (GPU 0; 15.56 GiB total capacity; 14.90 GiB "
        "already allocated; 15.10 GiB reserved in total by PyTorch)",
        ("cardFull",),
    ),
    Case(
        "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.70 GiB. GPU 0 has a total capacty of "
        "8.00 GiB of which 0 bytes is free. Of the allocated memory 10.30 GiB is allocated by PyTorch, and 144.59 MiB "
        "is "
        "reserved by PyTorch but unallocated.",
        ("cardFull",),
    ),
    Case("RuntimeError: CUDA out of memory. Tried to allocate more than 1EB memory.", ("absurdRequest",)),
    Case(
        "torch.cuda.OutOfMemoryError: Allocation on device 0 would exceed allowed memory. (out of memory)\n"
        "Currently allocated     : 10.10 GiB\nRequested               : 3.10 GiB\nDevice limit            : 11.90 GiB\n"
        "Free (according to CUDA): 0 bytes\nPyTorch limit (set by user-supplied memory fraction)\n"
        "                        : 17179869184.00 GiB",
        ("cardFull",),
    ),
    # Apple, the host
    Case(
        "RuntimeError: MPS backend out of memory (MPS allocated: 15.10 GB, other allocations: 1.20 GB, max allowed: "
        "18.13 GB). Tried to allocate 2.00 GB on private pool. Use PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0 to disable "
        "upper "
        "limit for memory allocations (may cause system failure).",
        ("mpsLimit",),
    ),
    Case(
        "RuntimeError: MPS backend out of memory (MPS allocated: 1.50 GiB, other allocations: 7.20 GiB, max allowed: "
        "9.07 GiB). Tried to allocate 512.00 MiB on shared pool.",
        ("mpsOtherUse",),
    ),
    Case(
        "RuntimeError: [enforce fail at alloc_cpu.cpp:83] err == 0. DefaultCPUAllocator: can't allocate memory: you "
        "tried "
        "to allocate 123480309760 bytes. Error code 12 (Cannot allocate memory)",
        ("hostMemory",),
    ),
    Case("DefaultCPUAllocator: not enough memory: you tried to allocate 9437184000 bytes.", ("hostMemory",)),
    Case(
        "numpy._core._exceptions._ArrayMemoryError: Unable to allocate 74.5 GiB for an array with shape (100000, "
        "100000) "
        "and data type float64",
        ("hostMemory",),
    ),
    Case(
        "slurmstepd: error: Detected 2 oom_kill events in StepId=771.0. Some of the step tasks have been OOM Killed.",
        ("slurmKill",),
    ),
    Case(
        "[8812.1] Out of memory: Killed process 3391 (python3) total-vm:91827364kB, anon-rss:64201180kB, file-rss:0kB",
        ("hostKilled",),
    ),
    # TensorFlow
    Case(_DUMP.format(request="2.00MiB", need=2097152, limit=4194304), ("bfcFragmentation",)),
    Case(_DUMP.format(request="3.00MiB", need=3145728, limit=4194304), ("bfcFull",)),
    Case(_DUMP.format(request="8.00MiB", need=8388608, limit=4194304), ("bfcRequestExceedsLimit",)),
    Case(_DUMP.format(request="3.00MiB", need=3145728, limit=16777216), ("bfcUnmapped",)),
    Case(
        "ResourceExhaustedError: {{function_node __wrapped__Conv2D}} OOM when allocating tensor with "
        "shape[64,256,112,112] and type float on /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc "
        "[Op:Conv2D]",
        ("tensorFlowPool", "tensorFlowOther"),
    ),
    Case(
        "ResourceExhaustedError: OOM when allocating tensor with shape[50000,50000] and type double on "
        "/job:localhost/replica:0/task:0/device:CPU:0 by allocator cpu [Op:Mul]",
        ("hostMemory",),
    ),
    Case(
        "E tensorflow/stream_executor/cuda/cuda_driver.cc:733] failed to allocate 14.20G (15247343616 bytes) from "
        "device: "
        "CUDA_ERROR_OUT_OF_MEMORY: out of memory",
        ("poolNotMapped",),
    ),
    Case(
        "OOM when allocating tensor with shape[1024,1024] and type float on "
        "/job:localhost/replica:0/task:0/device:GPU:0 "
        "by allocator GPU_0_bfc\nsimulated GPU:0 (Tesla K20m): 4 MiB requested, 12 of 16 MiB in use. 4 MiB are free "
        "but "
        "not contiguous: the largest block has 3 MiB. Free a tensor, or use a card with more memory.",
        ("bfcFragmentation",),
    ),
    Case(
        "60 GiB requested: simulated GPU:0 has 62.1 GiB free, this computer 9.4 GiB. A simulated GPU keeps its tensors "
        "in this computer's memory: use a smaller tensor, or a computer with more memory.",
        ("simulatedComputer",),
    ),
    Case(
        "W tensorflow/core/common_runtime/bfc_allocator.cc:290] Allocator (GPU_0_bfc) ran out of memory trying to "
        "allocate "
        "3.10GiB with freed_by_count=0. The caller indicates that this is not a failure, but this may mean that there "
        "could be performance gains if more memory were available.",
        ("notFailure",),
    ),
    Case(
        "W external/local_tsl/tsl/framework/cpu_allocator_impl.cc:83] Allocation of 3145728000 exceeds 10% of free "
        "system "
        "memory.",
        ("largeAllocation",),
    ),
    # JAX, CuPy
    Case(
        "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 8589934592 "
        "bytes.\nBufferAssignment OOM Debugging.\nBufferAssignment stats:\n"
        "             parameter allocation:    2.00GiB\n              constant allocation:         0B\n"
        "        maybe_live_out allocation:    1.00GiB\n     preallocated temp allocation:    9.00GiB\n"
        "  preallocated temp fragmentation:         0B (0.00%)\n                 total allocation:   12.00GiB\n",
        ("xlaActivations",),
    ),
    Case(
        "XlaRuntimeError: RESOURCE_EXHAUSTED: Failed to allocate request for 3.00GiB (3221225472B) on device ordinal 0",
        ("xlaPool", "xlaOther"),
    ),
    Case(
        "RESOURCE_EXHAUSTED: Ran out of memory in memory space hbm. Used 20.50G of 15.48G hbm. Exceeded hbm capacity "
        "by "
        "5.02G.",
        ("hbmFull",),
    ),
    Case(
        "cupy.cuda.memory.OutOfMemoryError: Out of memory allocating 3,200,000,000 bytes (allocated so far: "
        "1,000,000,512 bytes, limit set to: 4,000,000,000 bytes).",
        ("cupyLimitReached",),
    ),
    Case(
        "cupy.cuda.memory.OutOfMemoryError: Out of memory allocating 800,000,000 bytes (allocated so far: "
        "6,400,000,000 "
        "bytes).",
        ("cupyCardFull", "cupyOther"),
    ),
    # CUDA and its libraries
    Case("RuntimeError: CUDA error: device-side assert triggered\nCUDA kernel errors might be", ("deviceAssert",)),
    Case("RuntimeError: CUDA error: an illegal memory access was encountered", ("illegalAddress",)),
    Case("RuntimeError: CUDA error: no kernel image is available for execution on the device", ("noKernelImage",)),
    Case("RuntimeError: CUDA error: invalid device ordinal", ("invalidOrdinal",)),
    Case(
        "RuntimeError: Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you must use "
        "the "
        "'spawn' start method",
        ("forked",),
    ),
    Case("RuntimeError: cuDNN error: CUDNN_STATUS_NOT_INITIALIZED", ("cudnnFull", "cudnnVersions")),
    Case("RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`", ("cublasAlloc",)),
    Case("CUDA error: out of memory", ("noFiguresOther", "noFiguresOwn")),
    Case(
        "RuntimeError: Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is False. If "
        "you "
        "are running on a CPU-only machine, please use torch.load with map_location=torch.device('cpu')",
        ("deserialize",),
    ),
    Case("AssertionError: Torch not compiled with CUDA enabled", ("torchWithoutCuda",)),
    Case("node-7:120:321 [0] enqueue.cc:91 NCCL WARN Cuda failure 2 'out of memory'", ("ncclMemory",)),
    Case(
        "W tensorflow/stream_executor/platform/default/dso_loader.cc:64] Could not load dynamic library "
        "'libcudart.so.11.0'; dlerror: libcudart.so.11.0: cannot open shared object file",
        ("libraryMissing",),
    ),
    Case(
        "E external/local_xla/xla/stream_executor/cuda/cuda_driver.cc:282] failed call to cuInit: "
        "CUDA_ERROR_NO_DEVICE: no CUDA-capable device is detected",
        ("cuInit",),
    ),
    Case(
        "InvalidArgumentError: Cannot assign a device for operation tower/MatMul: Could not satisfy explicit device "
        "specification '/device:GPU:2' because no supported kernel",
        ("cannotAssign",),
    ),
    # Placement
    Case(
        "RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:1 and cpu! "
        "(when checking argument for argument mat1 in method wrapper_CUDA_addmm)",
        ("twoDevices",),
    ),
    Case(
        "RuntimeError: Expected all tensors to be on the same device, but got index is on cpu, different from other "
        "tensors on cuda:0 (when checking argument in method wrapper_CUDA__index_select)",
        ("twoDevices",),
    ),
    Case(
        "RuntimeError: Input type (torch.FloatTensor) and weight type (torch.cuda.FloatTensor) should be the same or "
        "input should be a MKLDNN tensor and weight is a dense tensor",
        ("twoDevices",),
    ),
    Case(
        "RuntimeError: Input type (torch.cuda.HalfTensor) and weight type (torch.cuda.FloatTensor) should be the same",
        ("twoTypes",),
    ),
    Case(
        "TypeError: can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host "
        "memory "
        "first.",
        ("toNumpy",),
    ),
    Case(
        "RuntimeError: Expected object of device type cuda but got device type cpu for argument #2 'mat2' in call to "
        "_th_mm",
        ("twoDevices",),
    ),
    # nvidia-smi
    Case(
        _smi(
            "20510", "24576", "97%", "|    0   N/A  N/A      7231      C   python3                           20500MiB |"
        ),
        ("smiInUse",),
    ),
    Case(
        _smi(
            "11820", "24576", "0%", "|    0   N/A  N/A       911      C   .../bin/python                    11810MiB |"
        ),
        ("smiLeftover",),
    ),
    Case(_smi("18020", "24576", "88%", "|  No running processes found     |"), ("smiHidden",)),
    Case(_smi("9020", "24576", "0%", ""), ("smiHiddenIdle",)),
    Case(
        _smi(
            "22000", "24576", "60%", "|    0   N/A  N/A      5510      C   python                             4000MiB |"
        ),
        ("smiUnexplained",),
    ),
    Case(_smi("4", "24576", "0%", "|  No running processes found     |"), ("smiFree",)),
    Case(
        "index, name, memory.used [MiB], memory.total [MiB], utilization.gpu [%]\n0, NVIDIA L4, 21000 MiB, 23034 MiB, "
        "0 %",
        ("smiNoListIdle",),
    ),
)

UNKNOWN: tuple[str, ...] = (
    "",
    "Exception in thread main java.lang.OutOfMemoryError: Java heap space\n\tat Main.main(Main.java:5)",
    "java.lang.OutOfMemoryError: GC overhead limit exceeded",
    "FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory",
    "OOMKilled",
    "ORA-04031: unable to allocate 4160 bytes of shared memory",
    'ERROR:  out of memory\nDETAIL:  Failed on request of size 262144 in memory context "ExprContext".',
    "mysqld: Out of memory (Needed 8160 bytes)",
    "fatal error: runtime: out of memory",
    "MemoryError",
    "Error: cannot allocate vector of size 3.7 Gb",
    "Segmentation fault (core dumped)",
    "RuntimeError: mat1 and mat2 shapes cannot be multiplied (64x128 and 256x10)",
    "ValueError: Expected input batch_size (32) to match target batch_size (64).",
    "KeyError: 'model.embed_tokens.weight'",
    "ModuleNotFoundError: No module named 'torch'",
    "The GPU has 24 GiB of memory, and the batch of 32 needs half of it.",
    "We discuss device placement, CUDA streams and memory pools in the next chapter.",
    "RuntimeError: element 0 of tensors does not require grad and does not have a grad_fn",
    "std::bad_alloc: what(): out of memory",
    "error: Assertion `ptr != NULL' failed. Aborted",
    "tensorflow.python.framework.errors_impl.InvalidArgumentError: Incompatible shapes: [2,3] vs. [4,3] [Op:AddV2]",
    "docker: Error response from daemon: failed to create task for container",
    "NVIDIA Corporation released a driver; see the notes of version 535.",
)
