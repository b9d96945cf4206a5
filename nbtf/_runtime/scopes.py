"""The state set by open `with` blocks: device, tapes, strategy, replica, graph."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from functools import cache, lru_cache
from typing import Any, NamedTuple
from weakref import ReferenceType

from nbtf._devices.base import Device
from nbtf._devices.names import Fields, parse
from nbtf._record.events import Reason

EXPLICIT = Reason("explicit scope")
"""The reason for ops in a `tf.device` block of the program."""


class Request(NamedTuple):
    """A requested device, which need not exist. `name` is its full name, or None after `tf.device(None)`.

    `reason` says who requested it. Only the program's own `tf.device` blocks have the default.
    """

    name: str | None
    fields: Fields
    reason: Reason = EXPLICIT


ANYWHERE = Request(None, Fields())
"""The request of `tf.device(None)`: default placement, overriding the cell and the session."""

_TOP = Fields("localhost", 0, 0, "CPU", 0)


@lru_cache(1024)
def merged(text: str, outer: Request | None, reason: Reason = EXPLICIT) -> Request:
    """Returns the request of `tf.device(text)` inside another one, with the reason for its ops.

    Fields missing from the text come from the outer request, or from CPU:0 at top level. Type and index are
    inherited independently, as in TensorFlow: `GPU` inside `CPU:2` is GPU:2.

    Raises:
      ValueError: if the text is not a device string, with TensorFlow's wording.
    """
    base = _TOP if outer is None or outer.name is None else outer.fields
    fields = base.merged_with(parse(text))
    return Request(fields.to_string(), fields, reason)


class Scope:
    """The state of all open blocks; replaced whenever a block begins or ends.

    `outer` is the scope to restore when the block ends, and `owner` a weak reference to the object that will end it
    (see `nbtf/_runtime/blocks.py`). When the owner is destroyed, it replaces `lane`, which the next op notices.

    `lane` is the device whose express lane a plain op may use in this scope, or None. `strategy` is a
    `tf.distribute.Strategy` across its replicas, or the context of the running replica. `names` is the prefix for
    names of new variables. `change` is the block's other change; see `nbtf/_runtime/changes.py`.
    """

    __slots__ = (
        "change",
        "creators",
        "graph",
        "lane",
        "names",
        "outer",
        "owner",
        "replica",
        "request",
        "strategy",
        "tape",
        "tapes",
    )

    node: str | None = None
    """The name of the node that a session is running; see `NodeScope`."""
    placed: tuple[Device, Reason] | None = None
    """Where that node was placed, and why; None if ops are placed one by one."""
    at_once: bool = False
    """Whether ops run eagerly in this scope although the default is to add them to a graph."""
    silent: bool = False
    """Whether ops in this scope are not reported."""

    def __init__(
        self,
        request: Request | None = None,
        tapes: tuple[Any, ...] = (),
        strategy: Any = None,
        replica: int | None = None,
        graph: Any = None,
        creators: tuple[Callable[..., Any], ...] = (),
        lane: Device | None = None,
        names: str = "",
    ) -> None:
        """Creates a scope that belongs to no block."""
        self.outer: Scope | None = None
        self.owner: ReferenceType[Any] | None = None
        self.change: Any = None
        self.request: Request | None = request
        self.tapes: tuple[Any, ...] = tapes
        self.tape: Any = tapes[0] if len(tapes) == 1 else None
        self.strategy: Any = strategy
        self.replica: int | None = replica
        self.graph: Any = graph
        self.creators: tuple[Callable[..., Any], ...] = creators
        self.lane: Device | None = lane
        self.names: str = names

    @property
    def plain(self) -> bool:
        """Whether the scope only affects placement: no graph, at most one tape."""
        return self.graph is None and len(self.tapes) < 2

    def with_(self, **changes: Any) -> Scope:
        """Returns a copy with some fields changed; its lane is closed until the Context opens it."""
        scope = Scope.__new__(Scope)
        scope.request, scope.tapes, scope.strategy, scope.replica = (
            self.request,
            self.tapes,
            self.strategy,
            self.replica,
        )
        scope.graph, scope.creators, scope.names = self.graph, self.creators, self.names
        scope.lane = scope.owner = scope.change = None
        for name, value in changes.items():
            setattr(scope, name, value)
        scope.tape = scope.tapes[0] if len(scope.tapes) == 1 else None
        scope.outer = self if self is not EMPTY else None
        return scope

    def with_tapes(self, tapes: tuple[Any, ...], lane: Device | None) -> Scope:
        """Returns a copy with other tapes, five times as fast as `with_`, because every training step needs one."""
        scope = Scope.__new__(Scope)
        scope.request, scope.strategy, scope.replica = self.request, self.strategy, self.replica
        scope.graph, scope.creators, scope.names = self.graph, self.creators, self.names
        scope.tapes = tapes
        scope.tape = tapes[0] if len(tapes) == 1 else None
        scope.lane = lane
        scope.owner = scope.change = None
        scope.outer = self
        return scope

    def with_request(self, request: Request, lane: Device | None) -> Scope:
        """Returns a copy with another request, five times as fast as `with_`, because every `tf.device` needs one."""
        if self.__class__ not in ORDINARY:
            scope = self.with_(request=request)
            scope.lane = lane
            return scope
        scope = new_scope(Scope)
        scope.request, scope.lane = request, lane
        scope.tapes, scope.tape = self.tapes, self.tape
        scope.strategy, scope.replica, scope.graph = self.strategy, self.replica, self.graph
        scope.creators, scope.names = self.creators, self.names
        scope.outer = scope.owner = scope.change = None
        return scope


new_scope = Scope.__new__

EMPTY = Scope()


class OutermostScope(Scope):
    """The scope of a device or tape outside all other blocks; its other fields have defaults and are never written.

    Only the fields that its block sets are stored (request, tapes, tape, lane, owner), which saves a quarter of the
    time.
    """

    __slots__ = ()

    outer = change = strategy = replica = graph = None
    creators = ()
    names = ""


ORDINARY = frozenset({Scope, OutermostScope})
"""The scope classes in which ops are reported as usual."""


@cache
def _request_of(device: str) -> Request:
    return Request(device, parse(device))


class PlacedScope(Scope):
    """A scope whose ops run on a device that is already decided, with its own reason."""

    __slots__ = ("placed",)

    def __init__(self, device: Device, reason: Reason, outer: Scope = EMPTY) -> None:
        """Stores the device, the reason, and the scope whose names and creators still apply."""
        super().__init__(_request_of(device.name), creators=outer.creators, names=outer.names)
        self.placed: tuple[Device, Reason] | None = (device, reason)


class NodeScope(PlacedScope):
    """The scope in which a session runs one node."""

    __slots__ = ("node",)

    at_once = True

    def __init__(self, node: str, device: Device, reason: Reason) -> None:
        """Stores the node's name and its placement."""
        super().__init__(device, reason)
        self.node: str | None = node

    def with_(self, **changes: Any) -> Scope:
        """Returns the scope of a block inside the node, where another request counts again."""
        inner = super().with_(**changes)
        return inner if "request" in changes else self._around(inner)

    def with_tapes(self, tapes: tuple[Any, ...], lane: Device | None) -> Scope:
        """Returns the scope of a tape inside the node."""
        return self._around(super().with_tapes(tapes, lane))

    def _around(self, inner: Scope) -> NodeScope:
        scope = NodeScope.__new__(NodeScope)
        for name in Scope.__slots__:
            setattr(scope, name, getattr(inner, name))
        scope.node, scope.placed = self.node, self.placed
        return scope


_STATE: ContextVar[Scope | None] = ContextVar("nbtf scope", default=None)
SCOPE = _STATE.get
set_scope = _STATE.set
reset_scope = _STATE.reset


def requested(scope: Scope) -> Request | None:
    """Returns the device a scope requests; while a function is traced, requests outside it count as well."""
    return scope.request or getattr(scope.graph, "request", None)


class Here:
    """The state of the express lane in this process; only the context changes it.

    `device` is the CPU while its lane is open for plain ops, otherwise None. `watched` is whether anything listens.
    """

    __slots__ = ("device", "watched")

    def __init__(self) -> None:
        """Starts with a closed lane."""
        self.device: Device | None = None
        self.watched = False


HERE = Here()
