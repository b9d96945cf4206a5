"""The running part of a training step: its phase, its layer, and what its results are kept for.

The code that runs a part declares it while anything listens; otherwise it costs nothing. Like a scope, a declaration
holds as long as its owner lives: the bound `__exit__` that a `with` statement holds until its block ends. So an
interrupt at any instruction leaves nothing behind. See `nbtf/_runtime/blocks.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast
from weakref import ref

from nbtf._devices.sites import NOWHERE, CallSite, Part, find_call_site
from nbtf._runtime.blocks import call_variable, leaving
from nbtf._runtime.scopes import HERE, SCOPE, Scope

F = TypeVar("F", bound=Callable[..., Any])

FORWARD, BACKWARD, ALL_REDUCE, UPDATE, INPUT, METRICS = PHASES = (
    "forward",
    "backward",
    "all-reduce",
    "update",
    "input",
    "metrics",
)
"""The possible phases of an event; empty outside a training step."""

WEIGHTS, SLOTS = "weights", "optimizer slots"
_BORN_IN = {FORWARD: "activations", BACKWARD: "gradients", ALL_REDUCE: "gradients", INPUT: "input"}
_OTHERWISE = "temporary"
HOLDERS = (WEIGHTS, SLOTS, *dict.fromkeys(_BORN_IN.values()), _OTHERWISE)
"""The purposes that memory may be kept for, as far as known when it is allocated."""

_Parts = dict[tuple[Any, Any, bool], Part]
_PARTS: dict[tuple[str, str, str], _Parts] = {}
_REMEMBERED = 4096


class _Saying:
    """A block's declaration; `outer` is the one that applies again afterwards."""

    __slots__ = ("call_site", "holder", "layer", "outer", "owner", "parts", "phase")

    outer: _Saying | None
    owner: ref[Any] | None

    def __init__(self, phase: str, layer: str, holder: str, call_site: CallSite | None = None) -> None:
        """Starts without an owner."""
        self.phase, self.layer, self.holder, self.call_site = phase, layer, holder, call_site
        self.outer = self.owner = None
        if call_site is not None:
            self.parts: _Parts = {}
            return
        key = phase, layer, holder
        earlier_parts = _PARTS.get(key)
        if earlier_parts is None:
            if len(_PARTS) >= _REMEMBERED:
                _PARTS.clear()
            earlier_parts = _PARTS[key] = {}
        self.parts = earlier_parts


NOTHING = _Saying("", "", "")


class Library:
    """A library of layers that runs on nbtf, such as the real Keras. It declares nothing: its frames show the phase."""

    __slots__ = ("describe",)

    def __init__(self) -> None:
        """Starts without a library."""
        self.describe: Callable[[], tuple[str, str]] | None = None
        """Returns the phase and the layer of the running op; None without such a library."""


LIBRARY = Library()
_SAID = call_variable("nbtf phase", NOTHING)
SAYING = _SAID.get


def _current() -> _Saying:
    """Returns the innermost declaration whose owner is still alive."""
    saying = _SAID.get()
    while saying.owner is not None and saying.owner() is None:
        saying = saying.outer or NOTHING
    return saying


def part_of(scope: Scope | None) -> Part:
    """Returns the context of an event besides its program line: node or replica, phase and layer.

    Without a declared phase, ops recorded on a tape belong to the forward phase.
    """
    saying = _SAID.get()
    if LIBRARY.describe is not None:
        saying = _described(_current())
    if saying is NOTHING and (scope is None or not (scope.tapes or scope.node or scope.replica is not None)):
        return NOWHERE
    if saying.owner is not None and saying.owner() is None:
        saying = _current()
    if scope is None:
        return NOWHERE if saying is NOTHING else saying.parts.get(_NO_SCOPE) or _new_part(saying, _NO_SCOPE)
    key = scope.node, scope.replica, not scope.tapes
    return saying.parts.get(key) or _new_part(saying, key)


_NO_SCOPE = None, None, True


def _described(saying: _Saying) -> _Saying:
    """Returns a declaration, with the phase and the layer from the library's frames where it has none."""
    if LIBRARY.describe is None or saying.call_site is not None or saying.layer:
        return saying
    phase, layer = LIBRARY.describe()
    words = saying.phase or phase, layer, saying.holder
    return NOTHING if words == ("", "", "") else _Saying(*words)


def _new_part(saying: _Saying, key: tuple[Any, Any, bool]) -> Part:
    if len(saying.parts) >= _REMEMBERED:
        saying.parts.clear()
    node, replica, unheard = key
    phase = saying.phase or ("" if unheard else FORWARD)
    holder = saying.holder or _BORN_IN.get(phase, _OTHERWISE)
    step_part = saying.parts[key] = Part(node, None if node else replica, phase, saying.layer, holder)
    if saying.call_site is not None:
        code, instruction, _ = saying.call_site
        step_part.call_site = code, instruction, step_part
    return step_part


class Remembered:
    """The declarations in effect where a step of a function is traced: phase, layer, holder and program line.

    They apply again whenever the step runs. The caller's declarations fill in what the step leaves open.
    """

    __slots__ = ("_call_site", "_heard_as", "_sayings", "_words")

    def __init__(self) -> None:
        """Stores the current declarations."""
        saying, scope = _described(_current()), SCOPE()
        self._heard_as = FORWARD if scope is not None and scope.tapes else ""
        self._words = saying.phase, saying.layer, saying.holder
        self._call_site = saying.call_site or find_call_site(NOWHERE)
        self._sayings: dict[tuple[str, str, str], _Saying] = {}

    def say(self, caller: object) -> None:
        """Applies the stored declarations again, inside those that `current_words` returned."""
        outer: Any = caller
        key = outer.phase, outer.layer, outer.holder
        saying = self._sayings.get(key)
        if saying is None:
            phase, layer, holder = self._words
            path = f"{outer.layer}/{layer}" if outer.layer and layer else outer.layer or layer
            words = phase or outer.phase or self._heard_as, path, holder or outer.holder
            saying = self._sayings[key] = _Saying(*words, outer.call_site or self._call_site)
        _SAID.set(saying)


def current_words() -> object:
    """Returns the current declarations, for `Remembered.say` and `restore_words`."""
    return _current()


def restore_words(words: Any) -> None:
    """Restores the declarations that `current_words` returned."""
    _SAID.set(words)


class stage:  # noqa: N801  # named like a block
    """A block that runs a part of a training step; each object is used once."""

    __slots__ = ("__weakref__", "_exit", "_new")

    def __init__(self, phase: str | None = None, layer: str | None = None, holder: str | None = None) -> None:
        """Stores what to declare; None keeps the outer value."""
        self._exit: Any = None
        outer = _current()
        self._new = _Saying(
            outer.phase if phase is None else phase,
            outer.layer if layer is None else layer,
            outer.holder if holder is None else holder,
        )
        self._new.outer = outer

    def __enter__(self) -> None:
        """Opens the block."""
        self._new.owner = ref(self._exit)
        self._exit = None
        _SAID.set(self._new)

    @leaving
    def __exit__(self, *error: object) -> None:
        """Closes the block."""
        _SAID.set(self._new.outer or NOTHING)


def during(phase: str) -> Callable[[F], F]:
    """Returns a decorator for functions that are a phase of a step."""

    def mark(function: F) -> F:
        @wraps(function)
        def run(*args: Any, **kwargs: Any) -> Any:
            if not HERE.watched:
                return function(*args, **kwargs)
            if phase is FORWARD:  # a loss function, which may be called in any phase
                with stage(_current().phase or phase):
                    return function(*args, **kwargs)
            with stage(phase, "", ""):
                return function(*args, **kwargs)

        return cast("F", run)

    return mark


def keeping(holder: str, function: Callable[..., Any], *args: Any) -> Any:
    """Calls a function whose results are kept for something; an enclosing declaration takes precedence."""
    if _current().holder:
        return function(*args)
    if LIBRARY.describe is not None and LIBRARY.describe()[0] == UPDATE:
        holder = SLOTS  # a variable that an optimizer of the library makes
    with stage(holder=holder):
        return function(*args)


def current_holder() -> str:
    """Returns what results are currently kept for; empty if nothing is declared."""
    return _current().holder


def in_layer(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a layer's call that declares the layer, inside any outer one; in the forward phase if none is open."""

    def run(*args: Any, **kwargs: Any) -> Any:
        outer = _current()
        path = f"{outer.layer}/{name}" if outer.layer else name
        with stage(outer.phase or FORWARD, path):
            return call(*args, **kwargs)

    return run
