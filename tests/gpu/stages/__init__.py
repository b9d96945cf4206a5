"""The stages of `tests/gpu/check.py`, in order, with their expected durations."""

from __future__ import annotations

from typing import NamedTuple


class Stage(NamedTuple):
    """One part of the check. `seconds` is the expected duration; after three times as long, the stage is stopped."""

    number: int
    name: str
    module: str
    seconds: int


STAGES = (
    Stage(0, "environment", "environment", 10),
    Stage(1, "cold start", "cold_start", 40),
    Stage(2, "conformance, 1 GPU", "conformance", 60),
    Stage(3, "conformance, 2 and 4 logical GPUs", "logical_gpus", 90),
    Stage(4, "memory modes", "memory_modes", 60),
    Stage(5, "out of memory, and afterwards", "exhaustion", 30),
    Stage(6, "a persistent error", "lost_device", 15),
    Stage(7, "live figures from NVML", "live_figures", 20),
    Stage(8, "cost of an op", "op_overhead", 60),
    Stage(9, "matrix products", "products", 40),
    Stage(10, "copies", "copies", 30),
    Stage(11, "training", "training", 60),
    Stage(12, "shared memory with other libraries", "shared_memory", 15),
    Stage(13, "bit-identical repetitions", "repeated_bits", 20),
    Stage(14, "NCCL", "nccl", 10),
    Stage(15, "PyTorch, watched", "torch_watched", 60),
    Stage(16, "PyTorch's memory", "torch_memory", 60),
    Stage(17, "PyTorch, predicted", "torch_predicted", 90),
    Stage(18, "TensorFlow, watched", "tensorflow_watched", 60),
)
