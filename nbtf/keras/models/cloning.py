"""Copying models with new weights."""

from __future__ import annotations

import json
from typing import Any

from nbtf.keras.border import check_arguments
from nbtf.keras.registry import custom_object_scope, deserialized


def clone_model(model: Any, **beyond: Any) -> Any:
    """Returns a model with the same layers and new weights.

    Args:
      model: a Sequential or functional model, or one whose class can be created from its config.
      **beyond: raises an error: the real Keras has further arguments.

    >>> model = tf.keras.Sequential([tf.keras.Input((2,)), tf.keras.layers.Dense(1)])
    >>> tf.keras.models.clone_model(model).output_shape
    (None, 1)
    """
    check_arguments("clone_model", beyond)
    own_classes: dict[str, Any] = {type(layer).__name__: type(layer) for layer in model._flatten_layers()}
    model_class: Any = model.__class__
    with custom_object_scope(own_classes):
        return model_class.from_config(model.get_config())


def model_from_json(json_string: str, custom_objects: Any = None) -> Any:
    """Returns a model created from the result of `model.to_json()`, with new weights.

    Args:
      json_string: the JSON text.
      custom_objects: classes and functions by name.
    """
    return deserialized(json.loads(json_string), custom_objects)
