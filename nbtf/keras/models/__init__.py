"""`tf.keras.models`: models, and functions to copy, save and load them."""

from __future__ import annotations

from importlib import import_module as _import_module
from typing import Any as _Any

from nbtf._public import public_names as _public_names
from nbtf.keras import border as _border
from nbtf.keras.models.cloning import clone_model as clone_model
from nbtf.keras.models.cloning import model_from_json as model_from_json
from nbtf.keras.models.functional import Functional as Functional
from nbtf.keras.models.model import Model as Model
from nbtf.keras.models.sequential import Sequential as Sequential

_OF_SAVING = ("load_model", "save_model", "load_weights", "save_weights")


def __getattr__(name: str) -> _Any:
    if name in _OF_SAVING:  # loaded on first use, because files are rarely needed
        return getattr(_import_module("nbtf.keras.saving"), name)
    _border.refuse(__name__, name)


def __dir__() -> list[str]:
    return [*_public_names(__name__), *_OF_SAVING]
