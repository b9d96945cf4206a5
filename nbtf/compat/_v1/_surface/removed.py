"""Advice for methods, arguments and fields of TensorFlow 1 that nbtf does not have."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

_T = TypeVar("_T")

_OTHER_SCOPE = "Open another tf.variable_scope with this argument."
_NO_PARTS = "Create each part as a variable, and join the parts with tf.concat."
_NO_GETTER = "Call tf.get_variable in a function of your own, which changes its arguments or its result."
_NO_REDUCTION = "Leave it out, or compute the loss of each example with ops and call tf.reduce_sum or tf.reduce_mean."
_THREADS = "Leave it out: each session runs its ops one after the other."
_NO_EFFECT = "Leave it out: the option has no effect in nbtf."

REMOVED = {
    # methods and attributes
    "Session": {
        "partial_run partial_run_setup": "Run the first part with Session.run, and feed its results to the next run.",
    },
    "Graph": {
        "container": "Leave the block out: the values of variables belong to their session.",
        "create_op": "Call the function of the op, such as tf.add.",
        "gradient_override_map": "Define a gradient with tf.custom_gradient, or stop gradients with tf.stop_gradient.",
        "is_fetchable prevent_fetching": "Leave it out: a session can fetch every tensor and node.",
    },
    "GraphKeys": {
        "ASSET_FILEPATHS CONCATENATED_VARIABLES COND_CONTEXT EVAL_STEP LOCAL_RESOURCES READY_FOR_LOCAL_INIT_OP "
        "READY_OP RESOURCES TRAINABLE_RESOURCE_VARIABLES WHILE_CONTEXT": (
            "nbtf adds nothing to this collection. Use a name of your own with tf.add_to_collection."
        ),
    },
    "Dimension": {
        "assert_is_compatible_with is_compatible_with merge_with": (
            "Compare the values of the dimensions: dimension.value is None if the length is unknown."
        ),
    },
    "Initializer": {"from_config get_config": "Call the initializer's class again with the same arguments."},
    "Variable": {
        "count_up_to": "Use tf.assign_add, and compare the value in Python.",
        "gather_nd": "Use tf.gather_nd(variable, indices).",
        "sparse_read": "Use tf.gather(variable, indices).",
    },
    "VariableScope": {
        "partitioner set_partitioner": _NO_PARTS,
        "custom_getter set_custom_getter": _NO_GETTER,
        "set_dtype set_use_resource": _OTHER_SCOPE,
        "local_variables": "Use tf.local_variables(scope).",
    },
    "train.Saver": {
        "set_last_checkpoints set_last_checkpoints_with_time": "Use recover_last_checkpoints(paths).",
    },
    "summary.FileWriter": {
        "add_event add_session_log": "Use add_summary.",
        "reopen": "Create another tf.summary.FileWriter for the same folder.",
    },
    # arguments
    "VariableScope.__init__": {
        "partitioner": _NO_PARTS,
        "custom_getter": _NO_GETTER,
    },
    "make_template": {"custom_getter_": _NO_GETTER},
    "layers.flatten": {"data_format": "Call tf.transpose first if the channels are not last."},
    "losses.compute_weighted_loss": {"reduction": _NO_REDUCTION},
    "losses.mean_squared_error": {"reduction": _NO_REDUCTION},
    "losses.softmax_cross_entropy": {"reduction": _NO_REDUCTION},
    "losses.sparse_softmax_cross_entropy": {"reduction": _NO_REDUCTION},
    "summary.FileWriter.__init__": {"graph_def session": "Leave it out: graphs are not written."},
    # fields of messages
    "ConfigProto": {
        "experimental pluggable_device_options share_cluster_devices_in_session": _NO_EFFECT,
        "rpc_options": "Leave it out: sessions use only this process.",
        "session_inter_op_thread_pool": _THREADS,
    },
    "GraphOptions": {
        "build_cost_model_after timeline_step": "tf.runtime.recording() measures the time of each node.",
        "enable_bfloat16_sendrecv enable_recv_scheduling": _NO_EFFECT,
    },
    "OptimizerOptions": {"max_folded_constant_in_bytes": _NO_EFFECT},
    "RunMetadata": {
        "step_stats": "tf.runtime.recording() shows when and where each node ran.",
        "session_metadata": _NO_EFFECT,
    },
    "RunOptions": {"experimental": _NO_EFFECT, "inter_op_thread_pool": _THREADS},
}
"""Advice for the removed names of each class, function and message; the keys are names of `compat.v1`."""


def advice_for(owner: str) -> dict[str, str]:
    """Returns the advice for each removed name of a class or function."""
    return {name: advice for names, advice in REMOVED[owner].items() for name in names.split()}


class Removed:
    """A removed attribute: reading it raises an error with advice in a note."""

    __slots__ = ("_advice", "_name")

    def __init__(self, name: str, advice: str) -> None:
        """Stores the name and the advice."""
        self._name, self._advice = name, advice

    def __get__(self, instance: object, owner: type) -> Any:
        """Raises the AttributeError, including for `hasattr`."""
        subject = f"type object '{owner.__name__}'" if instance is None else f"'{owner.__name__}' object"
        error = AttributeError(f"{subject} has no attribute '{self._name}'", obj=None)
        error.add_note(self._advice)
        raise error


def without_attributes(owner: str) -> Callable[[type[_T]], type[_T]]:
    """Returns a class decorator: removed attributes raise an error with advice.

    Args:
      owner: name of the class in the table.
    """
    removed = advice_for(owner)

    def decorated(cls: type[_T]) -> type[_T]:
        inherited: Callable[[Any], Any] = cls.__dir__

        def listed(self: Any) -> list[str]:
            return [name for name in inherited(self) if name not in removed]

        for name, advice in removed.items():
            setattr(cls, name, Removed(name, advice))
        cls.__dir__ = listed
        return cls

    return decorated


def without_arguments(owner: str) -> Callable[[_T], _T]:
    """Returns a function decorator: removed arguments raise Python's TypeError with advice.

    Args:
      owner: name of the function in the table.
    """
    removed = advice_for(owner)

    def decorated(function: Any) -> Any:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            for name in removed.keys() & kwargs.keys():
                error = TypeError(f"{function.__qualname__}() got an unexpected keyword argument '{name}'")
                error.add_note(removed[name])
                raise error
            return function(*args, **kwargs)

        return call

    return decorated
