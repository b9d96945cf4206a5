"""`tf.GradientTape`: a block that records ops, so that gradients can flow back through them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from sys import getrefcount
from typing import Any
from weakref import ref

from nbtf._ops.variables.variable import Variable
from nbtf._runtime.blocks import (
    NOBODY_ELSE,
    ScopeStack,
    close,
    close_alone,
    close_later,
    current_scope,
    leaving,
)
from nbtf._runtime.changes import Change, block
from nbtf._runtime.context import open_graph
from nbtf._runtime.lanes import is_watched, lane_at
from nbtf._runtime.logger import get_logger
from nbtf._runtime.phases import BACKWARD, during
from nbtf._runtime.scopes import EMPTY, SCOPE, OutermostScope, Scope, new_scope, set_scope
from nbtf._runtime.tape import ALWAYS, CONTINUOUS, Tape
from nbtf._runtime.tensor import Tensor
from nbtf.autodiff.backward import as_gradient, flow_back, ndarray, put, sum_gradients, unheard_device
from nbtf.autodiff.ends import UnconnectedGradients, one_for, ones_for, seeds_of, with_zeros
from nbtf.autodiff.jacobian import batch_jacobian_of, check_batches, jacobian_of, zeros_between
from nbtf.autodiff.sources import flat, lengths_of, pack_as, session_graph_of, watchable

_SPENT = "A non-persistent GradientTape can only be used to compute one set of gradients (or jacobians)"

_RECORDED = (
    "Calling GradientTape.gradient on a persistent tape inside its context is significantly less efficient than "
    "calling it outside the context (it causes the gradient ops to be recorded on the tape, leading to increased CPU "
    "and memory usage). Only call GradientTape.gradient inside the context if you actually want to trace the gradient "
    "in order to compute higher order derivatives."
)


_NONE = UnconnectedGradients.NONE
_NONE_YET: dict[int, Any] = {}


class GradientTape(ScopeStack):
    """Records the ops of a block, so that gradients can be computed.

    An op is recorded if it depends on something watched. Trainable variables are watched from their first use, tensors
    after `watch`. Gradients are ops themselves: they run where `gradient` is called, under the usual placement rules.
    An outer tape records them, which gives higher derivatives. A tape records only its own thread.

    Memory: the tape keeps the inputs and results that gradients need until `gradient` is called. A persistent tape
    keeps them as long as it exists.

    Args:
      persistent: whether `gradient` can be called more than once.
      watch_accessed_variables: whether trainable variables are watched automatically.

    >>> x = tf.Variable(3.0)
    >>> with tf.GradientTape() as tape:
    ...     y = x * x
    >>> tape.gradient(y, x).numpy()
    np.float32(6.0)
    """

    __slots__ = ("_persistent", "_scope", "_tape", "_token", "_variables", "_watches")

    def __init__(self, persistent: bool = False, watch_accessed_variables: bool = True) -> None:
        """Creates a tape that does not record yet."""
        self._exit = self._token = None
        self._tape: Tape | None = None
        self._persistent = persistent
        self._watches = watch_accessed_variables
        self._variables: dict[int, Any] = _NONE_YET
        self._scope: Scope | None = None

    def __enter__(self) -> GradientTape:
        """Starts or resumes recording."""
        tape = self._tape
        if tape is None:
            tape = self._tape = Tape(self._watches)
        elif tape.hearing is not None:
            raise ValueError("Tape is still recording, This can happen if you try to re-enter an already-active tape.")
        tape.closed = False
        if SCOPE() is None and self._exit is not None and getrefcount(self._exit) != NOBODY_ELSE:
            # The code below, inlined for the most common case: a `with` inside no other block.
            self._scope = scope = new_scope(OutermostScope)
            scope.tapes, scope.tape, scope.lane, scope.request = (tape,), tape, lane_at(None), None
            scope.owner = ref(self._exit, partial(setattr, scope, "lane"))
            self._exit = None
            self._token = set_scope(scope)
            tape.hearing = tape.token
            return self
        outer = current_scope()
        if outer is None:
            scope = EMPTY.with_tapes((tape,), lane_at(None))
        else:
            tapes = (*outer.tapes, tape)
            scope = outer.with_tapes(tapes, outer.lane if len(tapes) == 1 else None)
        self._scope = scope
        self.enter(scope)
        tape.hearing = tape.token  # last: if this scope is abandoned, closing it stops the recording
        return self

    @leaving
    def __exit__(self, *error: object) -> None:
        """Stops recording, even after an error."""
        if self._tape is not None:
            self._tape.hearing = None
        scope, token = self._scope, self._token
        self._scope = self._token = None
        if scope is not None and SCOPE() is scope:
            if token is None:
                close(scope)
            else:
                close_alone(scope, token)
        elif scope is not None:
            scope.tapes[-1].closed = True  # the inner block that is still open removes the tape when it ends
            close_later(scope)

    @property
    def _recording(self) -> bool:
        """Whether it is recording ops."""
        return self._tape is not None and self._tape.hearing is not None

    def _set_recording(self, records: bool) -> None:
        """Starts or pauses recording; the scope is unchanged, because other scopes may be open inside it."""
        if self._tape is not None:  # it is None once the gradient has been computed
            self._tape.hearing = self._tape.token if records else None

    # Watching

    def watch(self, tensor: Any) -> None:
        """Watches tensors: everything computed from them is recorded from now on.

        Args:
          tensor: a tensor or a variable, or a structure of them.

        Raises:
          ValueError: if it contains anything else.

        >>> x = tf.constant([1.0, 2.0])
        >>> with tf.GradientTape() as tape:
        ...     tape.watch(x)
        ...     y = tf.reduce_sum(x * x)
        >>> tape.gradient(y, x).numpy()
        array([2., 4.], dtype=float32)
        """
        for source in watchable(tensor):
            if source._dtype not in CONTINUOUS:
                _warn_first(
                    5,
                    "The dtype of the watched tensor must be floating (e.g. tf.float32), got %r",
                    source._dtype,
                )
            if self._tape is None:
                raise AttributeError("'NoneType' object has no attribute '_tape'")  # a bug in TensorFlow
            if isinstance(source, Variable):
                self._tape.watch_variable(source)
            elif source.__class__ is not Tensor and hasattr(source, "__tf_source__"):
                self._tape.watch_variable(source)
                self._tape.watch(source.__tf_source__)
            elif source._dtype in CONTINUOUS:
                self._tape.watch(source)

    def watched_variables(self) -> tuple[Any, ...]:
        """Returns the variables that are or were watched, in the order of their first use."""
        if self._tape is not None:
            self._variables = self._tape.variables
        return tuple(self._variables.values())

    @block
    def stop_recording(self) -> Change[None]:
        """Returns a block whose ops are not recorded.

        Raises:
          RuntimeError: if the tape has never recorded.
          ValueError: if it is not recording now.

        >>> x = tf.constant(4.0)
        >>> with tf.GradientTape() as tape:
        ...     tape.watch(x)
        ...     with tape.stop_recording():
        ...         y = x * x
        >>> tape.gradient(y, x) is None
        True
        """
        if self._tape is None:
            raise RuntimeError("Trying to stop recording a tape which is not recording.")
        if not self._recording:
            raise ValueError("Tape is not recording.")
        return Change("tape.stop_recording", self._set_recording, True, False, None)

    def reset(self) -> None:
        """Discards everything recorded and watched, and continues recording.

        Raises:
          ValueError: if the tape is not recording now.
        """
        if not self._recording or self._tape is None:
            raise ValueError("Tape is not recording.")
        self._tape.reset()

    # Gradients

    def gradient(
        self,
        target: Any,
        sources: Any,
        output_gradients: Any = None,
        unconnected_gradients: UnconnectedGradients | str = _NONE,
    ) -> Any:
        """Returns the gradients of a target with respect to sources.

        Args:
          target: a tensor, a variable, or a structure of them; the gradients of several targets are summed.
          sources: a tensor, a variable, or a structure of them.
          output_gradients: initial gradients of the targets, as a flat list; None means ones.
          unconnected_gradients: result for a source that the target does not depend on: a `tf.UnconnectedGradients` or
            its name.

        Returns:
          A gradient for each source, in the structure of `sources`: a tensor, or a `tf.IndexedSlices` if only rows of
          the source were read. None if the target does not depend on the source, or cannot, as for integers.

        Raises:
          RuntimeError: if the tape is not persistent and was used already.
          LookupError: if an op between target and sources has no gradient.
          TypeError: if the target is None.
          ValueError: if `unconnected_gradients` is unknown, or `output_gradients` and targets differ in number.

        >>> x = tf.Variable(2.0)
        >>> with tf.GradientTape(persistent=True) as tape:
        ...     y = x * x
        ...     z = y * y
        >>> tape.gradient(z, {"x": x, "y": y})["y"].numpy(), tape.gradient(y, x).numpy()
        (np.float32(8.0), np.float32(4.0))
        """
        tape = self._tape
        if tape is None or tape.hearing is not None:
            tape = self._finish_recording()
        if target is None:
            raise TypeError(
                "Argument `target` should be a list or nested structure of Tensors, Variables or CompositeTensors to "
                "be differentiated, but received None."
            )
        targets = [target] if target.__class__ is Tensor else flat(target)
        flat_sources = flat(sources)
        seeds = None if output_gradients is None else seeds_of(targets, output_gradients)
        walk = _walk_observed if is_watched() else GradientTape._walk
        if target.__class__ is not Tensor and session_graph_of(targets) is not None:
            walk = _walk_nodes
        results = walk(self, tape, targets, seeds, flat_sources, not self._persistent)
        if unconnected_gradients is not _NONE:
            results = with_zeros(results, flat_sources, unconnected_gradients)
        return results if flat_sources is sources else pack_as(sources, results)

    def _finish_recording(self) -> Tape:
        """Returns the recorded tape; a tape that is not persistent stops recording."""
        tape = self._tape
        if tape is None:
            raise RuntimeError(_SPENT)
        if self._recording:
            if self._persistent:
                _warn_first(1, _RECORDED)
            else:
                self._set_recording(False)
        return tape

    def _walk(  # noqa: C901  # inlined, like `flow_back`
        self, tape: Tape, targets: list[Any], seeds: list[Any] | None, sources: list[Any], last: bool
    ) -> list[Any]:
        """Walks back from targets to sources; `last` is whether this uses up the tape."""
        tensors: dict[int, Any] = {}
        variables: dict[int, Any] = {}
        alone: dict[int, Any] = {}  # targets that were not recorded, so nothing flows back from them
        device, token = unheard_device(), tape.token
        for number, target in enumerate(targets):
            if target._dtype in CONTINUOUS:
                seed = None if seeds is None else seeds[number]
                if seed is None and (device is None or (seed := one_for(target, device)) is None):
                    seed = ones_for(target)
                watch = target._watch
                arrived = tensors if watch is token or tape.watches(target) else variables if watch is ALWAYS else alone
                if arrived:
                    put(arrived, id(target), seed)
                else:
                    arrived[id(target)] = seed
        watched: set[int] = set()
        for source in sources:
            if (watch := source._watch) is not None and watch is not ALWAYS and tape.watches(source):
                watched.add(id(source))
        try:
            recorded = flow_back(tape, (tensors, {}, variables), watched, last, device)
        finally:
            if last:
                self._variables, self._tape = tape.variables, None
        results: list[Any] = []
        for source in sources:
            key = id(source)
            grad = variables.get(key) if source._watch is ALWAYS else recorded.get(key, alone.get(key))
            if device is not None and grad.__class__ is ndarray:
                array, grad = grad, Tensor()
                grad._array, grad._dtype, grad._device, grad._watch = array, source._dtype, device, None
            elif grad is not None:
                grad = as_gradient(sum_gradients(grad))
            results.append(grad)
        return results

    def jacobian(
        self,
        target: Any,
        sources: Any,
        unconnected_gradients: UnconnectedGradients | str = _NONE,
        parallel_iterations: int | None = None,
        experimental_use_pfor: bool = True,
    ) -> Any:
        """Returns the gradients of each element of a target.

        Args:
          target: a tensor.
          sources: a tensor, a variable, or a structure of them.
          unconnected_gradients: result for a source that the target does not depend on.
          parallel_iterations: accepted and ignored; elements are processed one by one.
          experimental_use_pfor: False requires a persistent tape, as in TensorFlow, and has no other effect.

        Returns:
          For each source, a tensor of shape `target.shape + source.shape`, or None.

        Raises:
          RuntimeError: if the tape is not persistent and was used already.

        >>> x = tf.constant([1.0, 2.0])
        >>> with tf.GradientTape() as tape:
        ...     tape.watch(x)
        ...     y = x * x
        >>> tape.jacobian(y, x).numpy()
        array([[2., 0.],
               [0., 4.]], dtype=float32)
        """
        flat_sources = flat(sources)
        jacobians = self._jacobians(jacobian_of, target, flat_sources, unconnected_gradients, experimental_use_pfor, "")
        return jacobians if flat_sources is sources else pack_as(sources, jacobians)

    def batch_jacobian(
        self,
        target: Any,
        source: Any,
        unconnected_gradients: UnconnectedGradients | str = _NONE,
        parallel_iterations: int | None = None,
        experimental_use_pfor: bool = True,
    ) -> Any:
        """Returns the gradients of each element of a target, example by example.

        Args:
          target: a tensor `[batch, y1, ..., yn]`, each example of which depends only on that example of the source.
          source: a tensor or variable `[batch, x1, ..., xm]`.
          unconnected_gradients: accepted; as in TensorFlow, unconnected gradients are always zeros.
          parallel_iterations: accepted and ignored; elements are processed one by one.
          experimental_use_pfor: False requires a persistent tape, as in TensorFlow, and has no other effect.

        Returns:
          A tensor `[batch, y1, ..., yn, x1, ..., xm]`.

        Raises:
          RuntimeError: if the tape is not persistent and was used already.
          ValueError: if target or source has fewer than two axes, or their first axes differ in length.

        >>> x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
        >>> with tf.GradientTape() as tape:
        ...     tape.watch(x)
        ...     y = x * x
        >>> tape.batch_jacobian(y, x).numpy()[1]
        array([[6., 0.],
               [0., 8.]], dtype=float32)
        """
        if self._tape is None:
            raise RuntimeError(_SPENT.replace("used to ", "used to"))  # a typo in TensorFlow
        check_batches(target, source)
        (jacobian,) = self._jacobians(batch_jacobian_of, target, flat(source), _NONE, experimental_use_pfor, "batch_")
        if jacobian is None:
            return zeros_between(target, source, 1)
        return jacobian

    @during(BACKWARD)
    def _jacobians(
        self,
        of: Callable[..., list[Any]],
        target: Any,
        sources: list[Any],
        unconnected: Any,
        vectorized: bool,
        prefix: str,
    ) -> list[Any]:
        tape = self._finish_recording()
        way_back = GradientTape._walk if session_graph_of([target]) is None else _walk_nodes
        if not vectorized and not self._persistent:
            between = " with" if prefix else "with "  # TensorFlow's spacing
            raise RuntimeError(
                f"GradientTape must be created with persistent=True to compute the {prefix}jacobian with eager "
                f"execution enabled and {between} experimental_use_pfor set to False."
            )

        def walk(seed: Tensor | None, last: bool) -> list[Any]:
            seeds = [] if seed is None else [seed]
            return way_back(self, tape, [target] * len(seeds), seeds, sources, last and not self._persistent)

        if way_back is _walk_nodes and not all([lengths_of(end).is_fully_defined() for end in (target, *sources)]):
            jacobians = open_graph().jacobians(partial(walk, last=True), target, sources, of)
        else:
            jacobians = of(walk, target, sources)
        if UnconnectedGradients(unconnected) is UnconnectedGradients.NONE:
            return jacobians
        return [
            zeros_between(target, source, 0) if grad is None else grad
            for source, grad in zip(sources, jacobians, strict=True)
        ]


_walk_observed = during(BACKWARD)(GradientTape._walk)


def _walk_nodes(
    block: GradientTape, tape: Tape, targets: list[Any], seeds: list[Any] | None, sources: list[Any], last: bool
) -> list[Any]:
    """Walks back through the nodes of a session's graph, as `GradientTape._walk` does for eager ops."""
    try:
        return session_graph_of(targets).flow_back(tape, targets, seeds, sources)
    finally:
        if last:
            block._variables, block._tape = tape.variables, None


Tape.block = GradientTape


_WARNED: dict[str, int] = {}


def _warn_first(times: int, text: str, *values: object) -> None:
    """Logs a warning, only the first few times."""
    count = _WARNED[text] = _WARNED.get(text, 0) + 1
    if count <= times:
        get_logger().warning(text, *values)
