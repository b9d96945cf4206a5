"""Which line of the user's program, which module and which phase of training does a stack belong to?"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from nbtf._runtime.phases import BACKWARD, FORWARD, INPUT, UPDATE
from nbtf._snapshots.snapshot import Frame, MemorySnapshot, Stack

_OWN_FOLDER = str(Path(__file__).parents[1]).replace("\\", "/") + "/"

_LIBRARY = re.compile(
    r"""/(?:site|dist)-packages/              # installed packages
    | /lib(?:64)?/python\d[.\d]*/             # the standard library
    | [/\\]Python\d+[/\\]Lib[/\\]             # the standard library on Windows
    | (?:^|/)torch/(?:nn|optim|autograd|cuda|utils|distributed|func|fx|jit|amp|csrc|_\w+)/
    | (?:^|/)torch/(?:_tensor|functional|serialization|_\w+)\.py$  # a checkout of PyTorch
    | torchinductor_ | <eval_with_key> | ^<frozen\ | ^<string>$ | ^<__array_function__
    """,
    re.VERBOSE,
)
_PYTHON = re.compile(r"\.pyw?$|\.ipynb$|^<ipython-input|^<stdin>$|^<cell|ipykernel_\d+")
_MODULE_CALL = "torch/nn/modules/module.py"
_PASSING_ON = ("container.py", "data_parallel.py", "distributed.py")
"""Files of modules that only call other modules."""


class Origin(NamedTuple):
    """The part of a program that a stack belongs to.

    Attributes:
      line: the user's innermost line, or the innermost line of a library if the stack shows no other; None without
        frames.
      is_own: whether `line` belongs to the user's program.
      module: the nested modules of PyTorch that were running, such as `model.py:57 > linear`; empty if unknown.
      phase: `forward`, `backward`, `update` or `input`; empty if unknown.
      function: the innermost function in Python; empty without frames.
    """

    line: Frame | None
    is_own: bool
    module: str
    phase: str
    function: str

    @property
    def words(self) -> str:
        """The line as text, such as `train.py:57 in step`; empty without frames."""
        if self.line is None:
            return ""
        file, line, function = self.line
        name = file.replace("\\", "/").rpartition("/")[2] or file
        return f"{name}:{line} in {function}" if line else f"{name} in {function}" if name else function


class Origins:
    """The origins of a snapshot's stacks, each determined when it is first read."""

    def __init__(self, snapshot: MemorySnapshot) -> None:
        """Begins without any."""
        self._stacks = snapshot.stacks
        self._origins: dict[int, Origin] = {}

    def __getitem__(self, stack: int) -> Origin:
        """Returns the origin of a stack, by its index."""
        origin = self._origins.get(stack)
        if origin is None:
            origin = self._origins[stack] = origin_of(self._stacks[stack])
        return origin


def origin_of(stack: Stack) -> Origin:
    """Returns the origin of a stack.

    >>> frames = [
    ...     ("/lib/python3.12/site-packages/torch/nn/modules/linear.py", 134, "forward"),
    ...     ("/lib/python3.12/site-packages/torch/nn/modules/module.py", 1784, "_call_impl"),
    ...     ("/home/ann/model.py", 57, "forward"),
    ...     ("/lib/python3.12/site-packages/torch/nn/modules/module.py", 1784, "_call_impl"),
    ...     ("/home/ann/train.py", 9, "step"),
    ... ]
    >>> origin = origin_of(tuple(Frame(*frame) for frame in frames))
    >>> origin.words, origin.module, origin.phase
    ('model.py:57 in forward', 'model.py:57 > linear', 'forward')
    """
    user_frame = next((frame for frame in stack if is_own(frame.file)), None)
    innermost = next((frame for frame in stack if _is_python(frame.file)), stack[0] if stack else None)
    function = "" if innermost is None else innermost.function
    return Origin(user_frame or innermost, user_frame is not None, _module_of(stack), _phase_of(stack), function)


@lru_cache(maxsize=65536)
def is_own(file: str) -> bool:
    """Returns whether a file belongs to the user's program: Python code outside of libraries and nbtf."""
    path = file.replace("\\", "/")
    return _is_python(file) and not _LIBRARY.search(path) and not path.startswith(_OWN_FOLDER)


def _is_python(file: str) -> bool:
    return _PYTHON.search(file) is not None


def _module_of(stack: Stack) -> str:
    """Returns the `forward` functions that modules called, the outermost first; all but the last with their line."""
    forwards = [
        inner
        for inner, outer in pairwise(stack)
        if outer.function == "_call_impl" and inner.function == "forward" and outer.file.endswith(_MODULE_CALL)
    ]
    forwards = [frame for frame in forwards if not frame.file.endswith(_PASSING_ON)]
    if not forwards:
        return ""
    innermost, *outer = forwards
    names = [f"{_name(frame.file)}:{frame.line}" for frame in reversed(outer)]
    return " > ".join([*names, _name(innermost.file).removesuffix(".py")])


def _name(file: str) -> str:
    return file.replace("\\", "/").rpartition("/")[2]


def _phase_of(stack: Stack) -> str:
    """Returns the phase of the innermost frame that shows one; modules that run within a backward pass belong to it."""
    is_forward = False
    for frame in stack:
        path, function = frame.file.replace("\\", "/"), frame.function
        if "torch::autograd::Engine" in function or function == "_engine_run_backward":
            return BACKWARD
        if "torch/autograd/" in path and "backward" in function:
            return BACKWARD
        if not is_forward and "torch/optim/" in path:
            return UPDATE
        if not is_forward and "torch/utils/data/" in path:
            return INPUT
        is_forward |= function == "_call_impl" and path.endswith(_MODULE_CALL)
    return FORWARD if is_forward else ""


def without_person(frame: Frame) -> Frame:
    """Returns a frame whose path has no folders that may name a person: from `site-packages` on, or the file alone."""
    folders: Sequence[str] = frame.file.replace("\\", "/").split("/")
    first = folders.index("site-packages") if "site-packages" in folders else len(folders) - 1
    return frame._replace(file="/".join(folders[first:]))
