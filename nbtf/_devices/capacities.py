"""How much memory does CUDA report for each card? Less than nvidia-smi prints, because the driver keeps a part.

Each figure is the total in a text that a real card printed: PyTorch's out-of-memory error (`has a total capacity of
39.39 GiB`), its `get_device_properties()`, or TensorFlow's list of devices. The total depends on the driver, and
reports of one card differ by up to 0.3 GiB. If several were found, the table has one by a driver of 2022 to 2024.
"""

from __future__ import annotations

from typing import NamedTuple

from nbtf._devices.cards import PhysicalGPU
from nbtf._devices.catalog import Card

_MIB = 1 << 20


class Capacity(NamedTuple):
    """The memory that CUDA reports for a card, in MiB, and the reports from which the figure is known."""

    mebibytes: int
    source: str


def _gibibytes(figure: float) -> int:
    """Returns the MiB that PyTorch prints as this number of GiB with two decimals."""
    return round(figure * 1024)


CAPACITIES = {
    "Tesla K20m": Capacity(
        _gibibytes(4.63), "TensorFlow 1 lists `name: Tesla K20m ... Total memory: 4.63GiB`: a public log of 2017"
    ),
    "Tesla K40c": Capacity(
        _gibibytes(11.17), "TensorFlow 1 lists `Tesla K40c ... 11.17GiB`: github.com/mozilla/DeepSpeech/issues/463"
    ),
    "Tesla P100-PCIE-16GB": Capacity(
        16280, "`total_memory=16280MB` of PyTorch 1.5 to 1.9; 15.90 GiB: github.com/googlecolab/colabtools/issues/950"
    ),
    "Tesla V100-SXM2-16GB": Capacity(
        _gibibytes(15.75),
        "15.75 GiB: github.com/XuyangBai/TransFusion/issues/49; `total_memory=16160MB` of PyTorch 1.7, or 15.78 GiB: "
        "github.com/googlecolab/colabtools/issues/2001",
    ),
    "Tesla V100-SXM2-32GB": Capacity(
        _gibibytes(31.74),
        "31.74 GiB: github.com/liucongg/ChatGLM-Finetuning/issues/73; 31.75 GiB: "
        "github.com/AetherCortex/Llama-X/issues/12",
    ),
    "Tesla T4": Capacity(
        _gibibytes(14.58),
        "14.58 GiB, driver R535: github.com/mbzuai-oryx/GeoPixel/issues/5; 14.56 GiB: "
        "github.com/Zheng-Chong/CatVTON/issues/133; 14.75 GiB: github.com/googlecolab/colabtools/issues/3814",
    ),
    "NVIDIA A100-SXM4-40GB": Capacity(
        _gibibytes(39.39),
        "39.39 GiB: tests of globus-gladier's XPCS flows on ALCF Polaris; 39.50 GiB: "
        "github.com/TianheWu/CoSeR/issues/10; 39.56 GiB: github.com/databrickslabs/dolly/issues/207",
    ),
    "NVIDIA A100-SXM4-80GB": Capacity(
        _gibibytes(79.15),
        "79.15 GiB: a public log of vLLM 0.2 of October 2023; 79.25 GiB: "
        "github.com/wbfwonderful/Vad-R1/issues/11; 79.35 GiB: "
        "github.com/Instruction-Tuning-with-GPT-4/GPT-4-LLM/issues/16",
    ),
    "NVIDIA L4": Capacity(
        _gibibytes(22.03), "cudaMemGetInfo reports 23,659,151,360 bytes, 22.03 GiB: public notes of measured L4 cards"
    ),
    "NVIDIA GeForce RTX 3090": Capacity(
        _gibibytes(23.69),
        "23.69 GiB, driver R545: github.com/vllm-project/vllm/issues/2140; `total_memory=24268MB` (23.70 GiB): "
        "Transformers' page about DeepSpeed",
    ),
    "NVIDIA GeForce RTX 4090": Capacity(
        _gibibytes(23.64),
        "23.64 GiB: github.com/ali-vilab/VGen/issues/104; 23.65 GiB: github.com/MotrixLab/AiOS/issues/29; 23.52 GiB: "
        "github.com/Soul-AILab/SoulX-FlashTalk/issues/5",
    ),
    "NVIDIA H100 80GB HBM3": Capacity(
        _gibibytes(79.11),
        "79.11 GiB: github.com/vllm-project/vllm/issues/27508; `total_memory=81089MB` (79.19 GiB) of PyTorch 2.7",
    ),
    "NVIDIA H200": Capacity(
        143156, "`total_memory=143156MB` of PyTorch, 139.80 GiB; cudaMemGetInfo reports 150,109,880,320 bytes elsewhere"
    ),
}
"""The reported memory by the card's name."""


def capacity_of(card: Card) -> int:
    """Returns the bytes that CUDA reports for a card.

    >>> from nbtf._devices.catalog import find_card
    >>> round(capacity_of(find_card("A100-40GB")) / (1 << 30), 2)
    39.39
    """
    capacity = CAPACITIES.get(card.name)
    return card.memory_bytes if capacity is None else capacity.mebibytes * _MIB


def has_own_size(gpu: PhysicalGPU) -> bool:
    """Returns whether a simulated card has its model's memory, not another size that the user has chosen."""
    return gpu.memory_bytes == gpu.card.memory_bytes


def reported_bytes(gpu: PhysicalGPU) -> int:
    """Returns the bytes that CUDA reports for a simulated card: all of them if the user has chosen the size."""
    return capacity_of(gpu.card) if has_own_size(gpu) else gpu.memory_bytes
