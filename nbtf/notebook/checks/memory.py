"""Checks of the lessons about memory and visible GPUs."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import nbtf as tf
from nbtf._devices.exhausted import SHORTAGES
from nbtf.notebook.checks.answers import Answers, Verdict, all_three, exercise, judged, short_device
from nbtf.notebook.checks.wording import phrase

_MIB = 2**20


@exercise
def guest(answers: Answers) -> Verdict:
    """The product is on GPU:0, and the pool is small."""
    product = answers.read("product", tf.Tensor)
    pool = sum(device.pool or 0 for device in tf.runtime.devices() if device.name == "GPU:0") / _MIB
    if short_device(product) == "GPU:0" and pool < 64:
        return Verdict(True, phrase("smallPool", mib=f"{pool:.0f}"))
    return Verdict(False, phrase("largePool", mib=f"{pool:.0f}", device=short_device(product)))


@exercise
def loss_history(answers: Answers) -> Verdict:
    """`remember` stores the value of a PyTorch loss without its graph."""
    remember, torch = answers.call("remember"), answers.read("torch")
    weight = torch.full((3,), 2.0, requires_grad=True)
    remember(weight.sum())
    history: list[Any] = answers.read("history", list)
    if not history:
        return Verdict(False, phrase("nothingKept"))
    last = history.pop()
    if getattr(last, "grad_fn", None) is not None:
        return Verdict(False, phrase("graphKept"))
    if float(last) != 6.0:
        return Verdict(False, phrase("otherLoss", value=float(last)))
    return Verdict(True, phrase("valueKept"))


@exercise
def causes(answers: Answers) -> Verdict:
    """The named causes of three errors are those in the error messages."""
    answer: dict[Any, Any] = answers.read("causes", dict)
    really = {name: _cause(_message_of(answers.call(name))) for name in ("first", "second", "third")}
    return all_three(answer, really, "wrongCauses")


def _message_of(function: Callable[[], object]) -> str:
    """Returns the error message of a call, or an empty string if it succeeds."""
    try:
        function()
    except tf.errors.ResourceExhaustedError as error:
        return str(error)
    return ""


def _cause(text: str) -> str:
    """Returns the cause that an error message names."""
    if not text:
        return "it did not fail"
    return "holes" if _names(text, "in pieces") else "limit" if _names(text, "too large") else "holder"


def _names(text: str, reason: str) -> bool:
    """Returns whether an error message contains the sentence for a reason, whatever the sizes."""
    return all(piece in text for piece in re.split(r"\{\w+\}", SHORTAGES[reason]))


@exercise
def repair(answers: Answers) -> Verdict:
    """The same steps run on the same GPU without an error."""
    third = answers.call("third")
    with tf.runtime.recording() as attempt:
        failed = bool(_message_of(third))
    gpu = next((device for device in tf.runtime.devices() if device.name == "GPU:0"), None)
    fills = sum(op == "Fill" for op, _ in attempt.ops)
    if gpu is None or gpu.memory_limit != 4 * _MIB:
        problem = phrase("otherSize")
    elif failed:
        problem = phrase("outOfMemory")
    elif fills != 21:
        problem = phrase("tensorsMade", n=fills)
    else:
        return Verdict(True, phrase("repaired", mib=f"{(gpu.peak or 0) / _MIB:.2f}"))
    return Verdict(False, phrase("repairs", problem=problem))


@exercise
def free(answers: Answers) -> Verdict:
    """A separate process sees card 3 as GPU:0 and card 1 as GPU:1."""
    cards = answers.call("visible_gpus")(CUDA_VISIBLE_DEVICES=answers.read("value", str))
    expected = ["GPU:0 is card 3 (0000:84:00.0)", "GPU:1 is card 1 (0000:03:00.0)", "2 GPU(s)"]
    right = cards == expected
    return Verdict(right, ", ".join(expected[:2] if right else cards) + ".")


@exercise
def fractions(answers: Answers) -> Verdict:
    """Two fractions fit on one GPU, each for a separate process. The sessions are those of the notebook's `tf`."""
    compat: Any = answers.read("tf")
    limits: list[int] = []
    for name in ("first_fraction", "second_fraction"):
        fraction = min(max(answers.read(name, float, int), 0.0), 1.0)
        tf.runtime.restart()
        options = compat.GPUOptions(per_process_gpu_memory_fraction=fraction)
        compat.Session(config=compat.ConfigProto(gpu_options=options))
        limits += [(d.memory_limit or 0) // _MIB for d in tf.runtime.devices() if d.name == "GPU:0"]
    right = limits[0] >= 4500 and limits[1] >= 6500 and sum(limits) <= 12288
    first, second, total = map(str, (*limits, sum(limits)))
    report = phrase("fractions", first=first, second=second, total=total)
    return judged(right, report, "fractionsGoal")
