"""Where did it run? Checks of the lessons on devices and placement."""

from __future__ import annotations

from typing import Any

import nbtf as tf
from nbtf._counts import counted
from nbtf.notebook.checks.answers import Answers, Verdict, exercise, short_device


@exercise
def one_character(answers: Answers) -> Verdict:
    """All of the loop on GPU:3."""
    used = sorted({device for _, device in answers.read("attempt", tf.runtime.Recording).ops})
    if used == ["GPU:3"]:
        return Verdict(True, "all of it ran on GPU:3.")
    return Verdict(False, f"it ran on {', '.join(used) or 'no device'}. Wanted: GPU:3.")


@exercise
def third(answers: Answers) -> Verdict:
    """The full name of the third GPU; on a machine that has one."""
    full_name = answers.read("full_name", str)
    tf.runtime.restart()
    tf.runtime.simulate_gpus(4)
    with tf.device(tf.config.list_logical_devices("GPU")[2].name):
        expected = tf.constant(0.0).device
    if full_name == expected:
        return Verdict(True, "that is the third GPU.")
    return Verdict(False, f"{full_name} is not it. Count from 0, and leave nothing out.")


@exercise
def odd(answers: Answers) -> Verdict:
    """The spelling that is no device, among those that the exercise lists."""
    spellings: list[Any] = answers.read("spellings", list)
    choice = answers.read("odd", str)
    if choice not in spellings:
        return Verdict(False, f"{choice!r} is not in the list.")
    try:
        with tf.device(choice):
            tf.constant([1.0])
    except (ValueError, RuntimeError) as error:
        return Verdict(True, str(error))
    return Verdict(False, f"{choice!r} is a device.")


@exercise
def predict(answers: Answers) -> Verdict:
    """The devices of five ops, compared with those that they run on."""
    prediction: dict[Any, Any] = answers.read("prediction", dict)
    results = dict(zip(prediction, _five_results(), strict=False))
    if len(results) < 5 or len(prediction) != 5:
        lines = counted(len(prediction), "line")
        return Verdict(False, f"the prediction has {lines}. Wanted: the five of the exercise.")
    wrong = [text for text, tensor in results.items() if prediction[text] != short_device(tensor)]
    if wrong:
        return Verdict(False, f"{len(wrong)} of 5 differ. Look again at: {wrong[0]}.")
    return Verdict(True, "all five.")


def _five_results() -> list[Any]:
    """The five ops of the exercise, on a machine with two GPUs."""
    tf.runtime.restart()
    tf.runtime.simulate_gpus(2)
    a, b = tf.ones([2, 3]), tf.ones([3, 2])
    with tf.device("/GPU:1"):
        product, text = tf.matmul(a, b), tf.strings.join(["a", "b"])
    with tf.device("/CPU:0"):
        x = tf.ones([2, 2])
    return [tf.matmul(a, b), product, tf.reduce_sum(product), text, tf.matmul(x, x)]


@exercise
def copies(answers: Answers) -> Verdict:
    """The same result on GPU:1, with two copies."""
    run = answers.call("run")
    with tf.runtime.recording() as attempt:
        result = run()
    moved = sum(attempt.snapshot().moves.values())  # of tensors
    is_tensor = isinstance(result, tf.Tensor)
    right = is_tensor and result.shape == [16, 16] and bool(tf.reduce_all(tf.equal(result, 100.0)))
    device = short_device(result)
    report = f"{counted(moved, 'copy', 'copies')}, {'the same' if right else 'another'} result, on {device}."
    if right and device == "GPU:1" and moved == 2:
        return Verdict(True, report)
    return Verdict(False, f"{report} Wanted: 2 copies, the same result, on GPU:1.")


@exercise
def without(answers: Answers) -> Verdict:
    """A product on GPU:1 that no `tf.device` has put there. Ends the default device that an answer may have set."""
    attempt = answers.read("attempt", tf.runtime.Recording)
    tf.runtime.set_default_device(None)
    reasons = [reason for op, _, reason in attempt.snapshot().ops if op == "MatMul"]
    if not reasons:
        return Verdict(False, "no product was computed. Wanted: GPU:1, without tf.device.")
    device = dict(attempt.ops)["MatMul"]
    report = tf.runtime.in_words("MatMul", device, reasons[0])
    by_hand = "tf.device" in report and "cell" not in report
    right = device == "GPU:1" and not by_hand
    return Verdict(right, f"MatMul ran on {report}.{'' if right else ' Wanted: GPU:1, without tf.device.'}")


@exercise
def loudly(answers: Answers) -> Verdict:
    """A function that fails on a missing device, and leaves soft placement as it was."""
    run_on = answers.call("run_on")
    previous = tf.config.get_soft_device_placement()
    try:
        results = [_attempt(run_on, device, soft) for device in ("/GPU:1", "/GPU:7") for soft in (True, False)]
    finally:
        tf.config.set_soft_device_placement(previous)
    expected = [("GPU:1", "setting kept")] * 2 + [("an error", "setting kept")] * 2
    for result, right in zip(results, expected, strict=True):
        if result != right:
            return Verdict(False, f"got {', '.join(result)}. Wanted: {', '.join(right)}.")
    return Verdict(True, "GPU:1 where it is there, an error where GPU:7 is not, and the setting as before.")


def _attempt(run_on: Any, device: str, soft: bool) -> tuple[str, str]:
    """What a call gives, and whether the setting is as before it."""
    tf.config.set_soft_device_placement(soft)
    try:
        outcome = short_device(run_on(device))
    except Exception:
        outcome = "an error"
    return outcome, "setting kept" if tf.config.get_soft_device_placement() == soft else "setting changed"
