"""`tf.keras.saving`: saving and loading models and weights."""

from __future__ import annotations

from nbtf.keras import border as _border
from nbtf.keras.registry import CustomObjectScope as CustomObjectScope
from nbtf.keras.registry import custom_object_scope as custom_object_scope
from nbtf.keras.registry import deserialized as _deserialized
from nbtf.keras.registry import get_custom_objects as get_custom_objects
from nbtf.keras.registry import get_registered_name as get_registered_name
from nbtf.keras.registry import get_registered_object as get_registered_object
from nbtf.keras.registry import register_keras_serializable as register_keras_serializable
from nbtf.keras.registry import serialized as _serialized
from nbtf.keras.saving.models import load_model as load_model
from nbtf.keras.saving.models import load_weights as load_weights
from nbtf.keras.saving.models import save_model as save_model
from nbtf.keras.saving.models import save_weights as save_weights

deserialize_keras_object = _deserialized
serialize_keras_object = _serialized

_border.guard(__name__)
