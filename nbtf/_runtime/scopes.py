"""What the open `with` blocks say: device, tapes, strategy, replica, graph."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, NamedTuple

from nbtf._devices.base import Device
from nbtf._devices.names import DeviceSpec


class Request(NamedTuple):
    """A device asked for: its full name, which need not exist. `name` is None after `tf.device(None)`."""

    name: str | None
    job: str = "localhost"
    replica: int = 0
    task: int = 0
    type: str = "CPU"
    index: int = 0


ANYWHERE = Request(None)
"""What `tf.device(None)` asks for: the default placement, whatever cell or session say."""

_TOP = Request("/job:localhost/replica:0/task:0/device:CPU:0")


def merged(text: str, outer: Request | None) -> Request:
    """Returns the request of `tf.device(text)` inside another one.

    What the text leaves open comes from the outer request, at top level from CPU:0; type and index are
    inherited independently, as in TensorFlow: `GPU` inside `CPU:2` is GPU:2.

    Raises:
      ValueError: the text is not a device string, with TensorFlow's words.
    """
    spec = DeviceSpec.from_string(text)
    base = _TOP if outer is None or outer.name is None else outer
    job, replica, task, kind, index = (
        given if given is not None else inherited
        for given, inherited in zip(
            (spec.job, spec.replica, spec.task, spec.device_type, spec.device_index), base[1:], strict=True
        )
    )
    return Request(f"/job:{job}/replica:{replica}/task:{task}/device:{kind}:{index}", job, replica, task, kind, index)


class Scope:
    """The state of all open blocks; never changed, only replaced.

    `lane` is the device on which a plain op may take its express lane inside this scope, or None.
    """

    __slots__ = ("creators", "graph", "lane", "replica", "request", "strategy", "tape", "tapes")

    def __init__(
        self,
        request: Request | None = None,
        tapes: tuple[Any, ...] = (),
        strategy: Any = None,
        replica: int | None = None,
        graph: Any = None,
        creators: tuple[Callable[..., Any], ...] = (),
        lane: Device | None = None,
    ) -> None:
        """Makes a scope."""
        self.request = request
        self.tapes = tapes
        self.tape = tapes[0] if len(tapes) == 1 else None
        self.strategy = strategy
        self.replica = replica
        self.graph = graph
        self.creators = creators
        self.lane = lane

    @property
    def plain(self) -> bool:
        """Whether ops are merely placed: no graph, no strategy, at most one tape."""
        return self.graph is None and self.strategy is None and len(self.tapes) < 2

    def with_(self, **changes: Any) -> Scope:
        """Returns a scope that differs in some fields; its lane is closed until the Context opens it."""
        fields: dict[str, Any] = {
            name: getattr(self, name) for name in ("request", "tapes", "strategy", "replica", "graph", "creators")
        }
        return Scope(**(fields | changes))


_STATE: ContextVar[Scope | None] = ContextVar("nbtf scope", default=None)
SCOPE = _STATE.get
set_scope = _STATE.set

EMPTY = Scope()


class Here:
    """The device whose express lane is open in this process, or None; written by `Context.settle` alone."""

    __slots__ = ("device",)

    def __init__(self) -> None:
        """Starts closed."""
        self.device: Device | None = None


HERE = Here()


class ScopeStack:
    """A block that replaces the scope: reusable, re-entrant, and safe to share between threads.

    A scope restores the previous value instead of resetting a token: a notebook cell with `await` may close
    the block in another context, where a token would be refused.
    """

    __slots__ = ("_entered",)

    def __init__(self) -> None:
        """Starts outside."""
        self._entered: list[tuple[Scope | None, Scope]] = []

    def enter(self, inner: Scope) -> None:
        """Makes `inner` the scope of this thread or task."""
        self._entered.append((SCOPE(), inner))
        set_scope(inner)

    def leave(self, message: str) -> None:
        """Restores what was there before; `RuntimeError(message)` if another block was left open inside."""
        here = SCOPE()
        for position in range(len(self._entered) - 1, -1, -1):
            outer, inner = self._entered[position]
            if inner is here:
                del self._entered[position]
                set_scope(outer)
                return
        raise RuntimeError(message)
