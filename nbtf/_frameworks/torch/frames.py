"""Which line of the user's program runs a PyTorch op, and which PyTorch code lies in between?"""

from __future__ import annotations

import sys
from dis import get_instructions
from types import CodeType, FrameType
from typing import Any, TypeAlias

from nbtf._devices.sites import is_ours

LIBRARY, AUTOGRAD, ENGINE, LOADER, MODULES = 1, 2, 4, 8, 16
"""Bits for frames of code other than the user's."""

_PARTS = {
    "torch.autograd": AUTOGRAD,
    "torch.autograd.graph": ENGINE | AUTOGRAD,
    "torch.nn.modules.module": MODULES,
}
_LOADERS = "torch.utils.data."
_OURS = frozenset({"torch", "nbtf", "contextlib", "functools"})


class Frames(dict[str, int]):
    """The bits of each module's frames; 0 for the user's modules."""

    def __missing__(self, module: str) -> int:
        """Determines the bits of a module."""
        bits = LIBRARY if module.partition(".")[0] in _OURS else 0
        if bits:
            bits |= _PARTS.get(module, 0)
            bits |= LOADER if module.startswith(_LOADERS) else 0
        self[module] = bits
        return bits


FRAMES = Frames()


class Generated(dict[str, bool]):
    """Whether PyTorch generated a file of code without a module: by `torch.fx`, its compiler or autograd."""

    def __missing__(self, file: str) -> bool:
        """Determines it for a file."""
        own_folder = next(iter(getattr(sys.modules.get("torch"), "__path__", [])), "<eval_with_key>")
        self[file] = file.startswith(("<eval_with_key>", own_folder)) or "torchinductor_" in file
        return self[file]


GENERATED = Generated()


def user_frame(frame: FrameType | None) -> tuple[FrameType | None, int]:
    """Returns the user's nearest frame, starting at a frame, and the bits of the frames before it."""
    bits = 0
    while frame is not None:
        own_bits = FRAMES[frame.f_globals.get("__name__", "")]
        if not own_bits:
            if not GENERATED[frame.f_code.co_filename]:
                return frame, bits
            own_bits = LIBRARY
        bits |= own_bits
        frame = frame.f_back
    return None, bits


# Keywords

_MODES = frozenset({"torch.utils._device", "torch.overrides"})
"""Modules whose frames pass on a call: those of `torch.set_default_device` and of other function modes."""

_Keywords: TypeAlias = "tuple[CodeType, tuple[str, ...] | None]"
_KEYWORDS: dict[int, _Keywords] = {}
_REMEMBERED = 4096


def scope_device(frame: Any) -> Any:
    """Returns the device that a frame of a device scope or default inserts into calls without a device."""
    if frame is None or frame.f_globals.get("__name__") != "torch.utils._device":
        return None
    return getattr(frame.f_locals.get("self"), "device", None)


def asks_for_device(frame: Any) -> bool:
    """Returns whether a call passes a `device` other than None, according to its frame."""
    while frame is not None and (frame.f_globals.get("__name__") in _MODES or is_ours(frame)):
        frame = frame.f_back
    if frame is None:
        return False
    keywords = _keywords(frame.f_code, frame.f_lasti)
    if keywords is not None and "device" not in keywords:
        return False
    device = frame.f_locals.get("device", _NOT_THERE)  # the argument of a function that passes its arguments on
    return device is not None and not (keywords is None and device is _NOT_THERE)


_NOT_THERE = object()


def _keywords(code: CodeType, at: int) -> tuple[str, ...] | None:
    """Returns the keywords of the call at an instruction; None if they are in a mapping."""
    entry = _KEYWORDS.get(id(code) + at)
    if entry is None or entry[0] is not code:
        if len(_KEYWORDS) >= _REMEMBERED:
            _KEYWORDS.clear()
        entry = _KEYWORDS[id(code) + at] = code, _read_keywords(code, at)
    return entry[1]


def _read_keywords(code: CodeType, at: int) -> tuple[str, ...] | None:
    earlier: list[Any] = []
    for instruction in get_instructions(code):
        if instruction.offset == at:
            if instruction.opname == "CALL_FUNCTION_EX":
                return None
            if instruction.opname == "CALL_KW":  # the instruction since Python 3.13
                return tuple(earlier[-1].argval)
            names = [each for each in earlier[-2:] if each.opname == "KW_NAMES"]
            return tuple(code.co_consts[names[0].arg]) if names else ()
        earlier.append(instruction)
    return ()
