"""`tf.keras`: layers, models and training.

Layers accept the arguments of `layers.Layer` as `**kwargs`, and optimizers those of `optimizers.Optimizer`.
Losses accept `reduction`, `name` and `dtype` as `losses.Loss` does; metrics accept `name` and `dtype` as
`metrics.Metric` does.
"""

from __future__ import annotations

import typing as _typing
from functools import partial as _partial
from importlib import import_module as _import_module
from types import ModuleType as _ModuleType
from typing import Any as _Any

from nbtf.keras import border as _border
from nbtf.keras import catalogue as _catalogue

if _typing.TYPE_CHECKING:  # modules loaded on first use, declared for editors and type checkers
    from nbtf.keras import activations as activations
    from nbtf.keras import backend as backend
    from nbtf.keras import callbacks as callbacks
    from nbtf.keras import config as config
    from nbtf.keras import constraints as constraints
    from nbtf.keras import datasets as datasets
    from nbtf.keras import initializers as initializers
    from nbtf.keras import layers as layers
    from nbtf.keras import losses as losses
    from nbtf.keras import metrics as metrics
    from nbtf.keras import mixed_precision as mixed_precision
    from nbtf.keras import models as models
    from nbtf.keras import optimizers as optimizers
    from nbtf.keras import preprocessing as preprocessing
    from nbtf.keras import random as random
    from nbtf.keras import regularizers as regularizers
    from nbtf.keras import saving as saving
    from nbtf.keras import utils as utils
    from nbtf.keras.dtypes import DTypePolicy as DTypePolicy
    from nbtf.keras.initializers import Initializer as Initializer
    from nbtf.keras.layers.base import Layer as Layer
    from nbtf.keras.layers.core import Input as Input
    from nbtf.keras.layers.input_spec import InputSpec as InputSpec
    from nbtf.keras.losses import Loss as Loss
    from nbtf.keras.metrics import Metric as Metric
    from nbtf.keras.models.functional import Functional as Functional
    from nbtf.keras.models.model import Model as Model
    from nbtf.keras.models.sequential import Sequential as Sequential
    from nbtf.keras.optimizers import Optimizer as Optimizer
    from nbtf.keras.regularizers import Regularizer as Regularizer
    from nbtf.keras.symbolic import KerasTensor as KerasTensor
    from nbtf.keras.variables import Variable as Variable

__version__ = "3.0.0"
"""The Keras generation that nbtf follows; programs compare with it."""

_LOADED_ON_FIRST_USE = frozenset(
    "activations backend callbacks config constraints datasets initializers layers losses "
    "metrics mixed_precision models optimizers preprocessing random regularizers saving utils".split()
)

_FETCHED_ON_FIRST_USE = {
    "DTypePolicy": "dtypes",
    "Functional": "models.functional",
    "Initializer": "initializers",
    "Input": "layers.core",
    "InputSpec": "layers.input_spec",
    "KerasTensor": "symbolic",
    "Layer": "layers.base",
    "Loss": "losses",
    "Metric": "metrics",
    "Model": "models.model",
    "Optimizer": "optimizers",
    "Regularizer": "regularizers",
    "Sequential": "models.sequential",
    "Variable": "variables",
}


_NAMED_IN_FILES = (
    "activations constraints initializers layers losses metrics models optimizers random regularizers"
).split()


if not _typing.TYPE_CHECKING:  # a type checker would otherwise assume that every name exists

    def __getattr__(name: str) -> _Any:
        if name in _LOADED_ON_FIRST_USE:
            try:
                return _import_module(f"nbtf.keras.{name}")
            except ModuleNotFoundError as error:
                if error.name != f"nbtf.keras.{name}":
                    raise
        if name in _FETCHED_ON_FIRST_USE:
            return globals().setdefault(
                name, getattr(_import_module(f"nbtf.keras.{_FETCHED_ON_FIRST_USE[name]}"), name)
            )
        _border.refuse(__name__, name)

    for _name in _NAMED_IN_FILES:
        _catalogue.add_module(f"keras.{_name}", _partial(__getattr__, _name))
    _catalogue.add_module("keras.optimizers.schedules", lambda: __getattr__("optimizers").schedules)


def __dir__() -> list[str]:
    # Submodules that happen to be loaded are not part of the public names.
    names = (name for name, value in globals().items() if name[0] != "_" and not isinstance(value, _ModuleType))
    return sorted(_LOADED_ON_FIRST_USE.union(_FETCHED_ON_FIRST_USE, names) - {"annotations"})
