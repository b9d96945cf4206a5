"""The names of the collections that TensorFlow 1 fills automatically, and access to the default graph's collections."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from nbtf.compat._v1._graph.defaults import get_default_graph
from nbtf.compat._v1._surface.removed import without_attributes


@without_attributes("GraphKeys")
class GraphKeys:
    """Names of collections, for `Graph.get_collection` and `tf.get_collection`."""

    ACTIVATIONS = "activations"
    BIASES = "biases"
    GLOBAL_STEP = "global_step"
    GLOBAL_VARIABLES = "variables"
    INIT_OP = "init_op"
    LOCAL_INIT_OP = "local_init_op"
    LOCAL_VARIABLES = "local_variables"
    LOSSES = "losses"
    METRIC_VARIABLES = "metric_variables"
    MODEL_VARIABLES = "model_variables"
    MOVING_AVERAGE_VARIABLES = "moving_average_variables"
    QUEUE_RUNNERS = "queue_runners"
    REGULARIZATION_LOSSES = "regularization_losses"
    SAVEABLE_OBJECTS = "saveable_objects"
    SAVERS = "savers"
    SUMMARIES = "summaries"
    SUMMARY_OP = "summary_op"
    TABLE_INITIALIZERS = "table_initializer"
    TRAINABLE_VARIABLES = "trainable_variables"
    TRAIN_OP = "train_op"
    UPDATE_OPS = "update_ops"
    VARIABLES = "variables"
    WEIGHTS = "weights"


def add_to_collection(name: Hashable, value: Any) -> None:
    """Adds a value to a collection of the default graph."""
    get_default_graph().add_to_collection(name, value)


def add_to_collections(names: Any, value: Any) -> None:
    """Adds a value to several collections of the default graph, once to each even if a name is repeated."""
    get_default_graph().add_to_collections(names, value)


def get_collection(key: Hashable, scope: str | None = None) -> list[Any]:
    """Returns the values in a collection of the default graph; with `scope`, only those with that name prefix."""
    return get_default_graph().get_collection(key, scope)


def get_collection_ref(key: Hashable) -> list[Any]:
    """Returns the list behind a collection of the default graph; changing it changes the collection."""
    return get_default_graph().get_collection_ref(key)
