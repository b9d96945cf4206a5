"""Who takes the memory, and which cards are mine? Checks of the lessons on memory and visibility."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import nbtf as tf
from nbtf._counts import counted
from nbtf.notebook.checks.answers import Answers, Verdict, exercise, short_device

_MIB = 2**20


@exercise
def guest(answers: Answers) -> Verdict:
    """The product on GPU:0, with a small pool."""
    product = answers.read("product", tf.Tensor)
    pool = sum(device.pool or 0 for device in tf.runtime.devices() if device.name == "GPU:0") / _MIB
    if short_device(product) == "GPU:0" and pool < 64:
        return Verdict(True, f"a pool of {pool:.0f} MiB.")
    device = short_device(product)
    report = f"a pool of {pool:.0f} MiB, and the product is on {device}."
    return Verdict(False, f"{report} Wanted: less than 64 MiB, on GPU:0.")


@exercise
def loss_history(answers: Answers) -> Verdict:
    """What is kept of a loss of PyTorch: its value, and not the graph behind it."""
    remember, torch = answers.call("remember"), answers.read("torch")
    weight = torch.full((3,), 2.0, requires_grad=True)
    remember(weight.sum())
    history: list[Any] = answers.read("history", list)
    if not history:
        return Verdict(False, "`remember` has added nothing to `history`.")
    last = history.pop()
    if getattr(last, "grad_fn", None) is not None:
        return Verdict(False, "what is kept has a graph behind it. Keep the value alone.")
    if float(last) != 6.0:
        return Verdict(False, f"the loss was 6.0, and {float(last)} is kept.")
    return Verdict(True, "the value, without its graph.")


@exercise
def causes(answers: Answers) -> Verdict:
    """The causes of three errors, compared with what the errors say."""
    answer: dict[Any, Any] = answers.read("causes", dict)
    really = {name: _cause(_message_of(answers.call(name))) for name in ("first", "second", "third")}
    wrong = [name for name in really if answer.get(name) != really[name]]
    if wrong:
        return Verdict(False, f"{', '.join(wrong)}. Read what the errors say.")
    return Verdict(True, "all three.")


def _message_of(function: Callable[[], object]) -> str:
    """The text of the error; empty where there is none."""
    try:
        function()
    except tf.errors.ResourceExhaustedError as error:
        return str(error)
    return ""


def _cause(text: str) -> str:
    """The cause that an error names."""
    if not text:
        return "it did not fail"
    return "holes" if "not in one piece" in text else "limit" if "Its limit is" in text else "holder"


@exercise
def repair(answers: Answers) -> Verdict:
    """The same steps on the same card, without the error."""
    third = answers.call("third")
    with tf.runtime.recording() as attempt:
        failed = bool(_message_of(third))
    gpu = next((device for device in tf.runtime.devices() if device.name == "GPU:0"), None)
    fills = sum(op == "Fill" for op, _ in attempt.ops)
    if gpu is None or gpu.memory_limit != 4 * _MIB:
        problem = "the card has another size"
    elif failed:
        problem = "it runs out of memory"
    elif fills != 21:
        problem = f"it makes {counted(fills, 'tensor')}"
    else:
        return Verdict(True, f"{(gpu.peak or 0) / _MIB:.2f} MiB at the peak.")
    return Verdict(False, f"{problem}. Wanted: 20 steps and one more tensor, within 4 MiB.")


@exercise
def free(answers: Answers) -> Verdict:
    """Card 3 as GPU:0 and card 1 as GPU:1, seen from a process of its own."""
    cards = answers.call("visible_gpus")(CUDA_VISIBLE_DEVICES=answers.read("value", str))
    expected = ["GPU:0 is card 3 (0000:84:00.0)", "GPU:1 is card 1 (0000:03:00.0)", "2 GPU(s)"]
    right = cards == expected
    return Verdict(right, ", ".join(expected[:2] if right else cards) + ".")


@exercise
def fractions(answers: Answers) -> Verdict:
    """Two fractions that share a card, each for a process of its own. Sessions are those of the notebook's `tf`."""
    compat: Any = answers.read("tf")
    limits: list[int] = []
    for name in ("first_fraction", "second_fraction"):
        fraction = min(max(answers.read(name, float, int), 0.0), 1.0)
        tf.runtime.restart()
        options = compat.GPUOptions(per_process_gpu_memory_fraction=fraction)
        compat.Session(config=compat.ConfigProto(gpu_options=options))
        limits += [(d.memory_limit or 0) // _MIB for d in tf.runtime.devices() if d.name == "GPU:0"]
    right = limits[0] >= 4500 and limits[1] >= 6500 and sum(limits) <= 12288
    expected = "" if right else " Wanted: at least 4500 and 6500, together at most 12288."
    return Verdict(right, f"{limits[0]} and {limits[1]} MiB, together {sum(limits)}.{expected}")
