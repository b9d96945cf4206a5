"""Which tensors are on different devices? PyTorch's, TensorFlow's and CuPy's wordings, with the devices they name."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from nbtf._error_texts.cleaning import pattern
from nbtf._error_texts.finding import Action, Figure, Statement, Value
from nbtf._error_texts.torch_causes import Reasons

_D = r"(?:cpu|meta|(?:cuda|xpu|mps|hip|npu)(?::\d{1,4})?)"
_DEVICE = re.compile(rf"{_D}|\d{{1,4}}")
_WHERE = (
    r"(?:\(?(?:when|while) checking arguments? (?:for argument (?P<argument>\w{1,40}?) )?in method "
    r"(?P<method>\w{1,80})\))?"
)
_TENSOR = r"(?:torch\.(?:cuda\.|xpu\.|mps\.|hip\.)?\w{1,20}Tensor|[A-Za-z]{1,12}(?:CUDA|CPU)?\w{0,20}Type|[\w:]{1,30})"
_TYPE = r"torch\.(?:cuda\.)?[A-Z][a-z]{2,8}Tensor"
_FULL = r"/job:[\w:/]{1,60}?/device:(?:CPU|GPU|TPU):\d{1,4}|/device:(?:CPU|GPU):\d{1,4}"


class Wording(NamedTuple):
    """A wording: the fixed words with which it begins, its pattern, and the name of its cause."""

    anchor: str
    pattern: re.Pattern[str]
    cause: str = "twoDevices"


def _wording(anchor: str, continuation: str, cause: str = "twoDevices") -> Wording:
    return Wording(anchor.replace(" ", ""), pattern(re.escape(anchor.replace(" ", "")) + continuation), cause)


WORDINGS: Sequence[Wording] = (
    _wording(
        "Expected all tensors to be on the same device, but found at least two devices,",
        rf"(?P<first>{_D}) and (?P<second>{_D})!{_WHERE}",
    ),
    _wording(
        "Expected all tensors to be on the same device, but got",
        rf"(?P<argument>\w{{1,40}}?) is on (?P<first>{_D}), different from other (?:tensors|tensor) on "
        rf"(?P<second>{_D})(?:\(when checking argument in method (?P<method>\w{{1,80}})\))?",
    ),
    _wording(
        "Tensor for argument #",
        r"\d '(?P<argument>\w{1,40})' is on (?P<first>CPU|GPU), but expected (?:it|them) to be on "
        r"(?P<second>GPU|CPU)(?:\(while checking arguments for (?P<method>\w{1,60})\))?",
    ),
    _wording(
        "Expected object of",
        r"(?:device type|backend) (?P<second>cuda|cpu|CUDA|CPU) but got (?:device type|backend) "
        r"(?P<first>cuda|cpu|CUDA|CPU) for argument #\d{1,2} '(?P<argument>\w{1,40})'",
    ),
    _wording(
        "Input type (", rf"(?P<first>{_TENSOR})\) and (?:weight|bias) type \((?P<second>{_TENSOR})\) should be the same"
    ),
    _wording(
        "Expected object of type",
        rf"(?P<second>{_TYPE}) but found type (?P<first>{_TYPE}) for argument #\d{{1,2}} '(?P<argument>\w{{1,40}})'",
    ),
    _wording(
        "expected device",
        rf"(?P<second>{_D})(?: and dtype \w{{1,12}}?)? but got device (?P<first>{_D})(?= and dtype|\W|$|[A-Z])",
    ),
    _wording(
        "Expected condition, x and y to be on the same device, but condition is on",
        rf"(?P<first>{_D}) and x and y are on (?P<second>{_D}) and {_D} respectively",
    ),
    _wording(
        "expected self and mask to be on the same device, but got",
        rf"(?P<argument>mask) on (?P<first>{_D}) and self on (?P<second>{_D})",
    ),
    _wording(
        "All input tensors must be on the same device. Received",
        rf"(?P<first>{_D}) and (?P<second>{_D})",
    ),
    _wording(
        "Input and",
        r"(?P<argument>parameter|hidden) tensors are not at the same device, found input tensor at "
        rf"(?P<first>{_D}) and (?:parameter|hidden) tensor at (?P<second>{_D})",
    ),
    _wording(
        "indices should be either on",
        rf"(?:cpu|(?P<first>{_D})) or on the same device as the indexed tensor \((?P<second>{_D})\)",
        "indices",
    ),
    _wording("can't convert", rf"(?P<first>{_D}) device type tensor to numpy", "toNumpy"),
    _wording(
        "module must have its parameters and buffers on device",
        rf"(?P<second>{_D}) \(device_ids\[0\]\) but found one of them on device: (?P<first>{_D})",
    ),
    _wording(
        "Tensors on conflicting devices: cannot compute",
        rf"(?P<method>\w{{1,60}}) as input #\d{{1,3}} was expected to be on (?P<second>{_FULL}) but is actually on "
        rf"(?P<first>{_FULL})",
        "conflictingDevices",
    ),
    _wording(
        "Array device must be same as the current device: array device =",
        r"(?P<first>\d{1,4}) while current = (?P<second>\d{1,4})",
        "cupyDevice",
    ),
)


def named_in(match: re.Match[str], line_end: Callable[[int], int]) -> dict[str, str]:
    """Returns what a match names; a device at its end does not continue with the digits of the next line.

    Args:
      match: a match of a wording.
      line_end: returns where the line that contains a character ends.
    """
    groups = {name: text for name, text in match.groupdict().items() if text}
    for name, text in groups.items():
        end = line_end(match.start(name)) - match.start(name)
        if match.end(name) == match.end() and end < len(text) and _DEVICE.fullmatch(text[:end]):
            groups[name] = text[:end]
    return groups


def reasons_of(wording: Wording, groups: Mapping[str, str]) -> tuple[str, list[Figure], Reasons]:
    """Returns the name of the cause, the devices as figures, and what to do.

    Args:
      wording: the wording of a message.
      groups: what the message names.
    """
    first, second = groups.get("first", "cpu"), groups.get("second", "")
    figures = [
        Figure(text, groups[name], groups[name])
        for name, text in (("first", "deviceFirst"), ("second", "deviceSecond"), ("argument", "argument"))
        if name in groups
    ]
    figures += [Figure("method", groups["method"], groups["method"])] if "method" in groups else []
    values: dict[str, Value] = {"first": first, "second": second, "argument": groups.get("argument", "")}
    if wording.cause == "toNumpy":
        return (
            "toNumpy",
            figures,
            _only("toNumpy", values, [Action("toNumpy", "array = tensor.detach().cpu().numpy()")]),
        )
    if wording.cause == "conflictingDevices":
        chosen = [Action("identity", f'with tf.device("{_short(second)}"): tensor = tf.identity(tensor)')]
        chosen.append(Action("softPlacement", "tf.config.set_soft_device_placement(True)"))
        return wording.cause, figures, _only(wording.cause, values, chosen)
    if wording.cause == "cupyDevice":
        chosen = [Action("cupyDevice", f"with cupy.cuda.Device({first}): ...")]
        return wording.cause, figures, _only(wording.cause, values, chosen)
    if wording.cause == "indices":
        chosen = [Action("moveIndices", f'tensor[indices.to("{second}")]')]
        return wording.cause, figures, _only(wording.cause, values, chosen)
    on_card = [_device(each) for each in (first, second)]
    if on_card[0] == on_card[1] and "." in first + second:  # the same device, so the types differ
        chosen = [Action("sameType", "inputs = inputs.to(next(model.parameters()).dtype)")]
        return "twoTypes", figures, _only("twoTypes", values, chosen)
    if on_card[0] == on_card[1] and not any(name in first for name in ("cuda", "cpu", "CUDA", "CPU", "GPU")):
        chosen = [Action("sameType", "inputs = inputs.to(next(model.parameters()).dtype)")]
        return "twoTypes", figures, _only("twoTypes", values, chosen)
    target = next((each for each in on_card if not each.startswith(("cpu", "meta"))), "cuda")
    values |= {"target": target}
    if "meta" in (first, second):
        empty = Action("materialize", f'model = model.to_empty(device="{target}")')
        return "metaDevice", figures, _only("metaDevice", values, [empty])
    name = "inputs"
    chosen = [
        Action("moveTensor", f'{name} = {name}.to("{target}")', {"target": target}),
        Action("moveModel", f'model = model.to("{target}")', {"target": target}),
        Action("whereIs", "next(model.parameters()).device, inputs.device"),
    ]
    return "twoDevices", figures, _only("twoDevices", values, chosen)


def _only(name: str, values: dict[str, Value], chosen: Sequence[Action]) -> Reasons:
    return Reasons([], [Statement(name, values)], [], chosen)


def _device(text: str) -> str:
    """Returns the device of a tensor type such as `torch.cuda.FloatTensor`; a device stays as it is."""
    lowered = text.lower()
    for name in ("cuda", "xpu", "mps", "hip"):
        if name in lowered:
            return lowered if lowered.startswith(f"{name}:") else name
    return {"gpu": "cuda", "meta": "meta"}.get(lowered, "cpu")


def _short(full: str) -> str:
    return full.rpartition("device:")[2]
