"""`tf.__internal__`: the classes and functions inside TensorFlow that libraries use, with the library that needs each.

All of them are for Keras 3 (`keras.src.backend.tensorflow`, and `keras.src.legacy` where noted).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from types import SimpleNamespace
from typing import Any, cast

from nbtf._as_tensorflow.class_names import give_names
from nbtf._as_tensorflow.cudnn import leave_out_cudnn
from nbtf._as_tensorflow.layers import describe_ops
from nbtf._as_tensorflow.presentation import is_presented
from nbtf._graph.function_graph import FunctionGraph
from nbtf._graph.handles import function_graph
from nbtf._graph.trial import init_scope, inside
from nbtf._ops.arrays.creation import get_static_value
from nbtf._ops.control.flow import cond
from nbtf._ops.ragged_and_sparse.indexed_slices import IndexedSlices
from nbtf._ops.ragged_and_sparse.ragged import RaggedTensor
from nbtf._ops.ragged_and_sparse.sparse import SparseTensor
from nbtf._ops.random.generator import Generator
from nbtf._ops.trackable import Trackable as TrackableBase
from nbtf._ops.trackable import restore_parts
from nbtf._ops.variables.variable import Variable as TensorVariable
from nbtf._runtime.scopes import EMPTY, SCOPE
from nbtf._runtime.tensor import Tensor as EagerTensor
from nbtf.data.iterators import Optional
from nbtf.distribute import get_replica_context
from nbtf.distribute.values import DistributedValues
from nbtf.keras.layers.tracking import TrackedDict, TrackedList, tracked

__all__ = [
    "CompositeTensor",
    "EagerTensor",
    "FuncGraph",
    "decorator",
    "distribute",
    "eager_context",
    "smart_cond",
    "tf2",
    "tracking",
    "types",
]


class _ClassesOf(type):
    """The class of a class that has instances of other classes among its own."""

    classes: tuple[type, ...]

    def __instancecheck__(cls, instance: Any) -> bool:
        """Returns whether an object belongs to one of the classes."""
        return isinstance(instance, cls.classes)


class CompositeTensor(metaclass=_ClassesOf):
    """`CompositeTensor`: a value that several tensors make up. For Keras' optimizers, trainer and serialization."""

    classes = (IndexedSlices, RaggedTensor, SparseTensor, DistributedValues, Optional)


_CONTAINERS = frozenset({TrackedList, TrackedDict, tuple, OrderedDict})


class TensorProtocol:
    """`types.Tensor`: the base class of Keras' variables, which TensorFlow's functions take like tensors."""

    @property
    def __tf_variable__(self) -> Any:
        """The variable that holds its value; missing until it has one."""
        variable = getattr(self, "_value", None)
        if variable is None:
            raise AttributeError("the variable has no value yet")
        return variable

    def __tf_tensor__(self, dtype: Any = None, name: str | None = None) -> Any:
        """Returns its value; subclasses define it."""
        raise NotImplementedError


class Trackable(TrackableBase):
    """`tracking.Trackable`: an object whose parts a checkpoint saves, under the names that `_track_trackable` gets."""

    _saves_parts = True
    """Whether `_trackable_children` returns all that `tf.train.Checkpoint` saves for the object."""

    def _track_trackable(self, trackable: Any, name: str, overwrite: bool = False) -> Any:
        """Adds a part, and restores its variables if a checkpoint has values for them."""
        self.__dict__.setdefault("_self_unconditional_dependency_names", {})[name] = trackable
        if self._awaiting:
            if isinstance(trackable, TensorProtocol) and not hasattr(trackable, "__tf_variable__"):
                _tell_of_value(cast("Any", trackable), self)
            restore_parts(self)
        return trackable

    def _trackable_children(self, save_type: str = "checkpoint", **kwargs: Any) -> dict[str, Any]:
        """Returns the parts by name."""
        return dict(self.__dict__.get("_self_unconditional_dependency_names", {}))

    def _named_children(self) -> Iterator[tuple[str, Any]]:
        """Yields the parts, for `tf.train.Checkpoint`."""
        yield from self._trackable_children().items()


def _tell_of_value(variable: Any, owner: Trackable) -> None:
    """Makes a variable restore its owner's parts as soon as it has a value, which Keras may give it later."""

    def resume() -> None:
        variable.__dict__["_awaiting"] = ()
        restore_parts(owner)

    variable.__dict__["_awaiting"] = (resume,)


class AutoTrackable(Trackable):
    """`tracking.AutoTrackable`: an object whose attributes are its parts. For Keras' layers, models and optimizers."""

    def __setattr__(self, name: str, value: Any) -> None:
        """Sets an attribute, which becomes a part if it can hold variables. Keras' own lists are not parts.

        As in TensorFlow, a list or dictionary becomes one that reports new items.
        """
        if getattr(self, "_self_setattr_tracking", True):
            value = tracked(value)
            if type(value) in _CONTAINERS or isinstance(value, TrackableBase | TensorVariable | Generator):
                self._track_trackable(value, name, overwrite=True)
            else:
                self.__dict__.get("_self_unconditional_dependency_names", {}).pop(name, None)
        super().__setattr__(name, value)

    def __delattr__(self, name: str) -> None:
        """Deletes an attribute, and removes it from the parts."""
        self.__dict__.get("_self_unconditional_dependency_names", {}).pop(name, None)
        super().__delattr__(name)


class FuncGraph:
    """`FuncGraph`: a graph for ops that describe shapes and dtypes only. For `compute_output_spec`.

    Its ops may use tensors of the function that is being traced.
    """

    def __init__(self, name: str) -> None:
        """Stores its name."""
        self.name = name

    def as_default(self) -> AbstractContextManager[Any]:
        """Returns a block whose ops are recorded and do not run."""
        graph = FunctionGraph(self.name, function_graph())
        graph.only_describes = True
        return inside((SCOPE() or EMPTY).with_(graph=graph, tapes=(), request=None))


def _choose(
    pred: Any, true_fn: Callable[[], Any] | None = None, false_fn: Callable[[], Any] | None = None, name: Any = None
) -> Any:
    """Calls one function if the condition is known, and adds both to the graph otherwise."""
    value = pred if isinstance(pred, bool | int) else get_static_value(pred)
    if value is None:
        return cond(pred, true_fn=true_fn, false_fn=false_fn)
    function = true_fn if value else false_fn
    if function is None:
        raise TypeError(f"smart_cond has no function to call, since the condition is {bool(value)}.")
    return function()


def _merge_call(fn: Callable[..., Any], strategy: Any, *args: Any, **kwargs: Any) -> Any:
    """Calls a function with the values of all replicas."""
    context = get_replica_context()
    return fn(strategy, *args, **kwargs) if context is None else context.merge_call(fn, args=args, kwargs=kwargs)


def _unwrap(function: Any) -> tuple[list[Any], Any]:
    """Returns the decorators of a function, and the function inside."""
    wrappers = list[Any]()
    while hasattr(function, "__wrapped__"):
        wrappers.append(function)
        function = function.__wrapped__
    return wrappers, function


def _unchanged(method: Any) -> Any:
    """Returns a method as it is: nbtf tracks only what `_track_trackable` adds."""
    return method


decorator = SimpleNamespace(unwrap=_unwrap)
"""For `keras.src.legacy.saving.serialization`."""
distribute = SimpleNamespace(
    interim=SimpleNamespace(maybe_merge_call=_merge_call), strategy_supports_no_merge_call=lambda: False
)
"""For Keras' optimizers under a strategy."""
eager_context = SimpleNamespace(eager_mode=init_scope)
"""For `keras.src.legacy.backend`."""
smart_cond = SimpleNamespace(smart_cond=_choose)
"""For `keras.ops.cond`, and data adapters of datasets."""
tf2 = SimpleNamespace(enabled=lambda: True)
"""For `keras.src.legacy.backend`."""
tracking = SimpleNamespace(
    AutoTrackable=AutoTrackable, Trackable=Trackable, no_automatic_dependency_tracking=_unchanged
)
"""For Keras' layers and variables."""
types = SimpleNamespace(Tensor=TensorProtocol)
"""For Keras' variables."""

if is_presented():  # Keras 3 asks for `tf.__internal__`; other programs do not
    give_names()
leave_out_cudnn()
describe_ops()
