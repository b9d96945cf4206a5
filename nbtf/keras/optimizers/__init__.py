"""`tf.keras.optimizers`: algorithms that update weights."""

from __future__ import annotations

from typing import Any

from nbtf.keras import border as _border
from nbtf.keras.border import advised
from nbtf.keras.optimizers import schedules as schedules
from nbtf.keras.optimizers.formulas import SGD as SGD
from nbtf.keras.optimizers.formulas import Adadelta as Adadelta
from nbtf.keras.optimizers.formulas import Adagrad as Adagrad
from nbtf.keras.optimizers.formulas import Adam as Adam
from nbtf.keras.optimizers.formulas import Adamax as Adamax
from nbtf.keras.optimizers.formulas import AdamW as AdamW
from nbtf.keras.optimizers.formulas import Ftrl as Ftrl
from nbtf.keras.optimizers.formulas import Nadam as Nadam
from nbtf.keras.optimizers.formulas import RMSprop as RMSprop
from nbtf.keras.optimizers.loss_scale import LossScaleOptimizer as LossScaleOptimizer
from nbtf.keras.optimizers.optimizer import Optimizer as Optimizer
from nbtf.keras.registry import deserialized, get_registered_object, look_up, serialized

_KNOWN: dict[str, Any] = {
    name: value for name, value in globals().items() if isinstance(value, type) and issubclass(value, Optimizer)
}
_BY_LOWER_NAME = {name.lower(): optimizer_class for name, optimizer_class in _KNOWN.items()}


def get(identifier: Any) -> Any:
    """Returns the optimizer for a name, a config or an object; None for None.

    >>> tf.keras.optimizers.get("sgd").name.partition("_")[0]
    'sgd'
    """
    if identifier is None or isinstance(identifier, Optimizer):
        return identifier
    if isinstance(identifier, dict):
        return look_up(identifier, _KNOWN, "optimizer")
    if isinstance(identifier, str):
        optimizer = get_registered_object(identifier) or _BY_LOWER_NAME.get(identifier.lower())
        if isinstance(optimizer, type):
            return optimizer()
    raise advised(ValueError(f"Could not interpret optimizer identifier: {identifier}"), identifier)


def serialize(optimizer: Any) -> Any:
    """Returns an optimizer as plain data."""
    return serialized(optimizer)


def deserialize(config: Any, custom_objects: Any = None) -> Any:
    """Creates an optimizer from the result of `serialize`."""
    return deserialized(config, custom_objects, _KNOWN)


_border.guard(__name__)
