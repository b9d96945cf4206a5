"""What the open `with` blocks say: device, tapes, strategy, replica, graph."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from functools import cache, lru_cache
from typing import Any, NamedTuple
from weakref import ReferenceType

from nbtf._devices.base import Device
from nbtf._devices.names import Fields, parse
from nbtf._runtime.events import Reason


class Request(NamedTuple):
    """A device asked for; it need not exist. `name` is its full name, None after `tf.device(None)`."""

    name: str | None
    fields: Fields


ANYWHERE = Request(None, Fields())
"""What `tf.device(None)` asks for: the default placement, whatever cell or session say."""

_TOP = Fields("localhost", 0, 0, "CPU", 0)


@lru_cache(1024)
def merged(text: str, outer: Request | None) -> Request:
    """Returns the request of `tf.device(text)` inside another one.

    What the text leaves open comes from the outer request, at top level from CPU:0; type and index are
    inherited independently, as in TensorFlow: `GPU` inside `CPU:2` is GPU:2.

    Raises:
      ValueError: the text is not a device string, with TensorFlow's words.
    """
    base = _TOP if outer is None or outer.name is None else outer.fields
    fields = base.merged_with(parse(text))
    return Request(fields.to_string(), fields)


class Scope:
    """The state of all open blocks; replaced by each block that begins or ends.

    `outer` is the scope that comes back when its block ends, and `owner` a weak reference to whatever will end it; see
    `nbtf/_runtime/blocks.py`. An owner that dies takes the place of `lane`, so that the next op looks.

    `lane` is the device on which a plain op may take its express lane inside this scope, or None. `strategy` is a
    `tf.distribute.Strategy` across its replicas, or the context of the replica that runs. `names` stands in front of
    the names of new variables. `change` is what its block has changed elsewhere; see `nbtf/_runtime/changes.py`.
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
    """The name of the node that a session runs here; see `NodeScope`."""
    placed: tuple[Device, Reason] | None = None
    """Where that node was placed, and why; ops are placed one by one where this is None."""
    at_once: bool = False
    """Whether ops run at once here though elsewhere they are added to the default graph."""
    silent: bool = False
    """Whether nobody is told of what ops do here."""

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
        """Makes a scope that no block has opened."""
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
        """Whether ops are merely placed: no graph, at most one tape."""
        return self.graph is None and len(self.tapes) < 2

    def with_(self, **changes: Any) -> Scope:
        """Returns a scope that differs in some fields; its lane is closed until the Context opens it."""
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
        """Returns a scope that differs in its tapes, in a fifth of the time: there is one in each step of a loop."""
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
        """Returns a scope that differs in its request, in a fifth of the time: there is one in each `tf.device`."""
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
    """The scope of a device or a tape in no other block: the rest is as if nothing were open, and never written.

    Only what its block sets is stored, in three quarters of the time: request, tapes, tape, lane, owner.
    """

    __slots__ = ()

    outer = change = strategy = replica = graph = None
    creators = ()
    names = ""


ORDINARY = frozenset({Scope, OutermostScope})
"""The classes of scopes in which ops are as they are told elsewhere."""


@cache
def _request_of(device: str) -> Request:
    return Request(device, parse(device))


class PlacedScope(Scope):
    """The scope in which ops run on a device that is decided already, for a reason of its own."""

    __slots__ = ("placed",)

    def __init__(self, device: Device, reason: Reason, outer: Scope = EMPTY) -> None:
        """Takes the device, why it is that one, and the scope whose names and creators go on."""
        super().__init__(_request_of(device.name), creators=outer.creators, names=outer.names)
        self.placed: tuple[Device, Reason] | None = (device, reason)


class NodeScope(PlacedScope):
    """The scope in which a session runs one node."""

    __slots__ = ("node",)

    at_once = True

    def __init__(self, node: str, device: Device, reason: Reason) -> None:
        """Takes the name of the node, and where it was placed."""
        super().__init__(device, reason)
        self.node: str | None = node

    def with_(self, **changes: Any) -> Scope:
        """Returns the scope of an open block in the node, in which another request counts again."""
        inner = super().with_(**changes)
        return inner if "request" in changes else self._around(inner)

    def with_tapes(self, tapes: tuple[Any, ...], lane: Device | None) -> Scope:
        """Returns the scope of a tape in the node."""
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
    """Returns the device that a scope asks for; where a function is traced, also what is asked for around it."""
    return scope.request or getattr(scope.graph, "request", None)


class Here:
    """The devices whose express lanes are open in this process; written by `lanes.py`, for the Context, alone.

    `device` is the CPU that plain ops go to, or None. `elsewhere` are all other devices that have a `quick`, none of
    them where there is no lane. `first` is the device that plain ops go to if it has a lane of either kind. `watched`
    says whether somebody listens, `recorded` are the devices that have a lane although recorders do, and `logged` is
    the CPU that plain ops go to if the log, and nobody else, listens.
    """

    __slots__ = ("device", "elsewhere", "first", "logged", "recorded", "watched")

    def __init__(self) -> None:
        """Starts closed."""
        self.device: Device | None = None
        self.elsewhere: frozenset[Device] = frozenset()
        self.first: Device | None = None
        self.recorded: frozenset[Device] = frozenset()
        self.logged: Device | None = None
        self.watched = False


HERE = Here()
