"""Checks of the lessons about devices and placement."""

from __future__ import annotations

from typing import Any

import nbtf as tf
from nbtf.notebook.checks.answers import Answers, Verdict, exercise, judged, short_device
from nbtf.notebook.checks.wording import listed, phrase


@exercise
def one_character(answers: Answers) -> Verdict:
    """The whole loop runs on GPU:3."""
    used = sorted({device for _, device in answers.read("attempt", tf.runtime.Recording).ops})
    if used == ["GPU:3"]:
        return Verdict(True, phrase("wholeLoop", device="GPU:3"))
    return Verdict(False, phrase("ranOn", devices=listed(used) or phrase("noDevice"), expected="GPU:3"))


@exercise
def third(answers: Answers) -> Verdict:
    """The name is the full name of the third GPU."""
    full_name = answers.read("full_name", str)
    tf.runtime.restart()
    tf.runtime.simulate_gpus(4)
    with tf.device(tf.config.list_logical_devices("GPU")[2].name):
        expected = tf.constant(0.0).device
    if full_name == expected:
        return Verdict(True, phrase("thirdGpu"))
    return Verdict(False, phrase("notThird", name=full_name))


@exercise
def odd(answers: Answers) -> Verdict:
    """The chosen spelling is the only one in the list that is not a device."""
    spellings: list[Any] = answers.read("spellings", list)
    choice = answers.read("odd", str)
    if choice not in spellings:
        return Verdict(False, phrase("notListed", choice=repr(choice)))
    try:
        with tf.device(choice):
            tf.constant([1.0])
    except (ValueError, RuntimeError) as error:
        return Verdict(True, str(error))
    return Verdict(False, phrase("isDevice", choice=repr(choice)))


@exercise
def predict(answers: Answers) -> Verdict:
    """Each of five ops runs on the predicted device."""
    prediction: dict[Any, Any] = answers.read("prediction", dict)
    results = dict(zip(prediction, _five_results(), strict=False))
    if len(results) < 5 or len(prediction) != 5:
        return Verdict(False, phrase("fiveLines", n=len(prediction)))
    wrong = [text for text, tensor in results.items() if prediction[text] != short_device(tensor)]
    if wrong:
        return Verdict(False, phrase("someWrong", n=len(wrong), line=wrong[0]))
    return Verdict(True, phrase("allFive"))


def _five_results() -> list[Any]:
    """Runs the exercise's five ops on a machine with two GPUs."""
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
    """The result is the same, on GPU:1, with two copies."""
    run = answers.call("run")
    with tf.runtime.recording() as attempt:
        result = run()
    moved = sum(attempt.snapshot().moves.values())
    is_tensor = isinstance(result, tf.Tensor)
    right = is_tensor and result.shape == [16, 16] and bool(tf.reduce_all(tf.equal(result, 100.0)))
    device = short_device(result)
    report = phrase("sameResult" if right else "otherResult", n=moved, device=device)
    return judged(right and device == "GPU:1" and moved == 2, report, "twoCopies")


@exercise
def without(answers: Answers) -> Verdict:
    """A product ran on GPU:1 without `tf.device`. Removes the default device that the answer may have set."""
    attempt = answers.read("attempt", tf.runtime.Recording)
    tf.runtime.set_default_device(None)
    reasons = [reason for op, _, reason in attempt.snapshot().ops if op == "MatMul"]
    if not reasons:
        return Verdict(False, phrase("noProduct"))
    device = dict(attempt.ops)["MatMul"]
    report = tf.runtime.in_words("MatMul", device, reasons[0])
    by_hand = "tf.device" in report and "cell" not in report
    right = device == "GPU:1" and not by_hand
    return judged(right, phrase("productRan", report=report), "withoutDevice")


@exercise
def loudly(answers: Answers) -> Verdict:
    """A function fails if the device does not exist, and leaves soft placement unchanged."""
    run_on = answers.call("run_on")
    previous = tf.config.get_soft_device_placement()
    try:
        results = [_attempt(run_on, device, soft) for device in ("/GPU:1", "/GPU:7") for soft in (True, False)]
    finally:
        tf.config.set_soft_device_placement(previous)
    kept_text = phrase("kept")
    expected = [("GPU:1", kept_text)] * 2 + [(phrase("anError"), kept_text)] * 2
    for result, right in zip(results, expected, strict=True):
        if result != right:
            return Verdict(False, phrase("got", got=listed(result), expected=listed(right)))
    return Verdict(True, phrase("loudly"))


def _attempt(run_on: Any, device: str, soft: bool) -> tuple[str, str]:
    """Returns the outcome of a call, and whether it left the setting unchanged."""
    tf.config.set_soft_device_placement(soft)
    try:
        outcome = short_device(run_on(device))
    except Exception:
        outcome = phrase("anError")
    return outcome, phrase("kept" if tf.config.get_soft_device_placement() == soft else "changed")
