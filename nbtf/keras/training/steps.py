"""Training, testing and predicting with one batch, on one device or split between replicas."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any, cast
from weakref import ref

import numpy as np

from nbtf import distribute
from nbtf._devices.names import devices_in
from nbtf._graph.autograph.conversion import converted_in_graphs
from nbtf._graph.function import Function
from nbtf._ops.arrays.creation import zeros_like
from nbtf._ops.ragged_and_sparse.indexed_slices import IndexedSlices
from nbtf._ops.variables.creation import VariableAggregation
from nbtf._runtime.cluster import finish, forget_failures
from nbtf._runtime.context import CURRENT
from nbtf._runtime.device import placed
from nbtf._runtime.placement import STRATEGY
from nbtf.distribute.reduction import ReduceOp, reduce_values
from nbtf.distribute.values import PerReplica, mapped, replica_number
from nbtf.distribute.variables import SyncOnReadVariable
from nbtf.errors import OpError
from nbtf.keras.optimizers import LossScaleOptimizer
from nbtf.keras.training.feeding import unpack_batch
from nbtf.keras.training.replica_parts import SHARE, Share, part_for, place_batch, rows_of
from nbtf.keras.training.restoring import Restorable

if TYPE_CHECKING:
    from nbtf.keras.training.learner import Learner


class Steps:
    """Runs a model on one batch after another.

    A step is traced for the shapes of a batch, and its ops run again for each batch with these shapes. With
    `run_eagerly` the Python code runs each time. A step is atomic: if it fails or is interrupted, all variables are
    restored to their values after the last finished step.
    """

    def __init__(self, model: Learner) -> None:
        """Determines the strategy of the model and its devices."""
        self._model = model
        self._strategy = model.distribute_strategy
        self._devices: tuple[str, ...] = self._strategy.extended.worker_devices
        self._replicas = len(self._devices)
        self._in_strategy = self._strategy is not distribute.get_strategy() or distribute.has_strategy()
        self._restorable: Restorable | None = None
        self._step = 0

    def _run(self, step: Callable[[Steps, Any], Any], batch: Any) -> Any:
        """Places a batch and runs a step with it, which is traced if possible."""
        with self._strategy.scope() if self._in_strategy else nullcontext():
            data = self._strategy.run(lambda: self._part_of(batch)) if self._in_strategy else place_batch(batch)
            return self._function(step)(data)

    def _part_of(self, batch: Any) -> Any:
        """Returns the current replica's rows of a batch, on its device."""
        return place_batch(part_for(replica_number() or 0, self._replicas, batch))

    def _function(self, step: Callable[[Steps, Any], Any]) -> Callable[[Any], Any]:
        """Returns a step as a function of a batch, which reuses earlier traces of the same step."""
        compiled = self._model._compiled
        if compiled is None or compiled.run_eagerly or isinstance(compiled.optimizer, LossScaleOptimizer):
            return partial(step, self)  # LossScaleOptimizer reads values to decide whether a step counts
        key = step.__name__, self._in_strategy, self._strategy.extended.membership
        function = compiled.functions.get(key)
        if function is None:
            model = ref(self._model)  # weak, so that the traced function does not keep the model alive

            def run_step(data: Any) -> Any:
                return step(Steps(cast("Learner", model())), data)

            run_step.__name__ = step.__name__.strip("_")
            run_step.__qualname__ = f"{type(self._model).__name__}.{run_step.__name__}"  # warnings show this name
            function = compiled.functions[key] = Function(
                run_step, autograph=False, traced_signatures=_TRACED_SIGNATURES, counted_as=step
            )
        return function

    # Training

    def train(self, batch: Any) -> Any:
        """Trains on a batch; returns the result of an overridden `train_step`, otherwise None."""
        self._remember()
        try:
            logs = self._run(Steps._train_step, batch)
            finish(CURRENT.context)  # a step that failed on a task must not have changed anything
        except BaseException as error:
            self._tell_device(error)
            if self._restorable is not None:
                self._restorable.bring_back()
            if isinstance(error, OpError):
                forget_failures(CURRENT.context)
            raise
        if self._restorable is not None:
            self._restorable.forget()
        self._step += 1
        return logs

    def _remember(self) -> None:
        # The first step creates variables: those of layers that it builds, and the optimizer's.
        if self._restorable is None or self._step == 1:
            self._restorable = Restorable(self._model._all_variables())
        self._restorable.keep()

    def _train_step(self, data: Any) -> Any:
        model = self._model
        if model._overrides("train_step"):
            return self._in_replicas(converted_in_graphs(model.train_step), data, empty_too=True)
        if not self._in_strategy:
            model._change(*model._gradients(*unpack_batch(data)))
            return None
        return self._train_across(data)

    def _train_across(self, data: Any) -> None:
        """Computes the gradients of all replicas, adds them up once, and updates all copies of the weights."""
        model = self._model
        replica_gradients: dict[int, list[Any]] = {}

        def gradients(rows: Any) -> None:
            replica_gradients[replica_number() or 0] = model._gradients(*unpack_batch(rows))[1]

        self._in_replicas(gradients, data)
        if replica_gradients:
            model._change(model.trainable_variables, self._sum_gradients(replica_gradients))
        if 0 < len(replica_gradients) < self._replicas:
            self._follow(sorted(replica_gradients))

    def _follow(self, ran: list[int]) -> None:
        """Copies running means to replicas that had no rows, which would otherwise still have their initial values."""
        for variable in self._model.non_trainable_variables:
            handle = getattr(variable, "handle", variable)
            if isinstance(handle, SyncOnReadVariable) and handle.aggregation is VariableAggregation.MEAN:
                for number in set(range(self._replicas)).difference(ran):
                    mean = reduce_values(
                        ReduceOp.MEAN, [handle.values[replica].value() for replica in ran], self._devices[number]
                    )
                    handle.values[number].assign(mean)

    def _sum_gradients(self, replica_gradients: Mapping[int, list[Any]]) -> list[Any]:
        """Returns the gradients of all replicas for each weight; zeros for replicas that had no rows."""
        if self._replicas == 1:
            return replica_gradients[0]
        grads: list[Any] = []
        for weight_index in range(len(next(iter(replica_gradients.values())))):
            row = [
                replica_gradients[number][weight_index] if number in replica_gradients else None
                for number in range(self._replicas)
            ]
            example = next((grad for grad in row if grad is not None), None)
            if example is None:
                grads.append(None)
                continue
            full = [self._nothing(example, number) if grad is None else grad for number, grad in enumerate(row)]
            grads.append(PerReplica(full))
        return grads

    def _nothing(self, like: Any, number: int) -> Any:
        with placed(self._devices[number], STRATEGY):
            if isinstance(like, IndexedSlices):
                return IndexedSlices(like.values[:0], like.indices[:0], like.dense_shape)
            return zeros_like(like)

    # Testing and predicting

    def test(self, batch: Any) -> Any:
        """Updates the metrics with a batch; returns the result of an overridden `test_step`.

        Raises:
          RuntimeError: if the model was created in the scope of a strategy and its optimizer was not.
        """
        optimizer = self._model.optimizer
        if self._model._is_of_strategy and optimizer is not None and not optimizer.built:
            with self._strategy.scope():
                optimizer.check_strategy()
        return self._run(Steps._test_step, batch)

    def _test_step(self, data: Any) -> Any:
        model = self._model
        return self._in_replicas(
            converted_in_graphs(model.test_step) if model._overrides("test_step") else model._tested, data
        )

    def predict(self, batch: Any) -> Any:
        """Returns the outputs for a batch as arrays."""
        replica_outputs = self._run(Steps._predict_step, batch)
        return join_outputs([mapped(_as_array, outputs) for outputs in replica_outputs])

    def _predict_step(self, data: Any) -> list[Any]:
        """Returns the outputs of the replicas that have rows."""
        replica_outputs: list[Any] = []
        predict = converted_in_graphs(self._model.predict_step)
        self._in_replicas(lambda rows: replica_outputs.append(predict(rows)), data)
        return replica_outputs

    # Replicas

    def _in_replicas(self, fn: Callable[[Any], Any], data: Any, empty_too: bool = False) -> Any:
        """Calls a function in each replica with its part of a batch; skips replicas without rows.

        With `empty_too`, all replicas call it: a function defined by the user may wait for the other replicas.
        """
        if not self._in_strategy:
            return fn(data)
        row_count = rows_of(data)

        def replica(rows: Any) -> Any:
            if self._replicas == 1:
                return fn(rows)
            rows_here = rows_of(rows)
            if not rows_here and not empty_too:
                return None
            outer_share = SHARE.get()
            try:
                SHARE.set(Share(rows_here, row_count or 1))
                return fn(rows)
            finally:
                SHARE.set(outer_share)

        return self._strategy.run(replica, (data,))

    def _tell_device(self, error: BaseException) -> None:
        """Adds the replica to an error that was raised while copies of the weights were updated."""
        mentioned = devices_in(str(error))
        if mentioned and mentioned[0] in self._devices:
            self._strategy.note_replica(error, self._devices.index(mentioned[0]))


_TRACED_SIGNATURES = 16
"""Number of batch shapes for which a step is traced; batches with further shapes run the Python code."""


def _as_array(value: Any) -> Any:
    return value if value is None else np.asarray(value.numpy() if hasattr(value, "numpy") else value)


def join_outputs(outputs: list[Any]) -> Any:
    """Returns the outputs for several batches, or for parts of one, joined along the rows."""
    if len(outputs) == 1:
        return outputs[0]
    return mapped(lambda *batches: np.concatenate(batches), *outputs)
