"""Small traces that follow the forms of PyTorch's and TensorFlow's profilers, made by a generator."""

from __future__ import annotations

from random import Random
from typing import Any

Events = list[dict[str, Any]]


def named(pid: Any, tid: Any, process: str, thread: str) -> Events:
    return [
        {"ph": "M", "name": "process_name", "pid": pid, "tid": 0, "ts": 0, "args": {"name": process}},
        {"ph": "M", "name": "thread_name", "pid": pid, "tid": tid, "ts": 0, "args": {"name": thread}},
    ]


def piece(category: str, name: str, start: float, seconds: float, pid: Any = 9, tid: Any = 9, **args: Any) -> Any:
    times = {"ts": start, "dur": seconds, "pid": pid, "tid": tid}
    return {"ph": "X", "cat": category, "name": name, "args": args} | times


def kineto(steps: int = 2, seed: int = 0) -> dict[str, Any]:
    """A training loop on two cards: upload, two kernels on two streams, `.item()`; 1,000 µs each."""
    random = Random(seed)
    events = named(9, 9, "python", "thread 9 (python)") + named(0, 7, "python", "stream 7")
    for step in range(steps):
        at = 1000.0 * step
        events += [
            piece("user_annotation", f"ProfilerStep#{step}", at, 1000),
            piece("user_annotation", "forward", at + 10, 400),
            piece("cpu_op", "aten::to", at + 20, 80),
            piece("cpu_op", "aten::copy_", at + 25, 70),
            piece("cuda_runtime", "cudaMemcpyAsync", at + 30, 20, correlation=3 * step),
            piece("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", at + 60, 100, 0, 7, device=0, stream=7, bytes=4096),
            piece("cpu_op", "aten::linear", at + 110, 200),
            piece("cpu_op", "aten::addmm", at + 120, 150),
            piece("cuda_runtime", "cudaLaunchKernel", at + 130, 10, correlation=3 * step + 1),
            piece("kernel", "gemm", at + 200, 300, 0, 7, device=0, stream=7),
            piece("kernel", "nccl", at + 300, 300, 0, 20, device=0, stream=20),
            piece("gpu_memset", "Memset (Device)", at + 620, 10, 0, 7, device=0, stream=7, bytes=64),
            piece(
                "gpu_memcpy",
                "Memcpy PtoP (Device -> Device)",
                at + 640,
                50,
                0,
                7,
                fromDevice=0,
                inDevice=0,
                toDevice=1,
                stream=7,
                bytes=8,
            ),
            piece("kernel", "relu", at + 700, 40, 1, 7, device=1, stream=7),
            piece("cpu_op", "aten::item", at + 420, 400),
            piece("cpu_op", "aten::_local_scalar_dense", at + 430, 380),
            piece("cuda_runtime", "cudaStreamSynchronize", at + 450, 350),
            piece("gpu_memcpy", "Memcpy DtoH (Device -> Pageable)", at + 790, 5, 0, 7, device=0, stream=7, bytes=4),
            piece("python_function", "train.py(3): step", at, 900),
            {"ph": "s", "cat": "ac2g", "name": "ac2g", "id": step, "pid": 9, "tid": 9, "ts": at},
            memory(at + 100, 512 * (step + 1), 512),
        ]
    random.shuffle(events)
    cards = [{"id": 0, "name": "NVIDIA T4", "totalGlobalMem": 15 << 30}, {"id": 1, "name": "NVIDIA T4"}]
    head = {"schemaVersion": 1, "deviceProperties": cards, "baseTimeNanoseconds": 1_700_000_000_000_000_000}
    return head | {"traceEvents": events, "traceName": "trace.json"}


def memory(start: float, in_use: int, nbytes: int, card: int = 0) -> dict[str, Any]:
    args = {"Total Reserved": 2 << 20, "Total Allocated": in_use, "Bytes": nbytes, "Device Id": card, "Device Type": 1}
    return {"ph": "i", "cat": "cpu_instant_event", "name": "[memory]", "pid": 9, "tid": 9, "ts": start, "args": args}


def tensorflow() -> dict[str, Any]:
    """A step of TensorFlow on a card, with the lines that repeat the streams."""
    events = named(1, 13, "/device:GPU:0", "Stream #13(MemcpyH2D)") + named(
        1, 14, "/device:GPU:0", "Stream #14(Compute)"
    )
    events += named(1, 30, "/device:GPU:0", "TensorFlow Ops") + named(2, 5, "/host:CPU", "python")
    details = "kind_src:pinned kind_dst:device size:65536 dest:0 async:1"
    for event in (
        piece("", "MemcpyH2D", 10, 20, 1, 13, memcpy_details=details),
        piece("", "volta_sgemm_128x64_nn", 40, 100, 1, 14, tf_op="MatMul"),
        piece("", "MatMul", 40, 100, 1, 30),
        piece("", "EagerExecute: MatMul", 5, 60, 2, 5),
        piece("", "$train.py:3 step", 0, 200, 2, 5),
        piece("", "MemcpyD2H", 150, 10, 1, 13, memcpy_details="size:4 dest:0 async:1"),
    ):
        del event["cat"]
        events.append(event)
    return {"displayTimeUnit": "ns", "metadata": {"highres-ticks": True}, "traceEvents": [*events, {}]}
