"""`tf.keras.utils`: helper functions for data, files and models."""

from nbtf.keras import border as _border
from nbtf.keras.registry import CustomObjectScope as CustomObjectScope
from nbtf.keras.registry import custom_object_scope as custom_object_scope
from nbtf.keras.registry import deserialized as _deserialized
from nbtf.keras.registry import get_custom_objects as get_custom_objects
from nbtf.keras.registry import get_registered_name as get_registered_name
from nbtf.keras.registry import get_registered_object as get_registered_object
from nbtf.keras.registry import register_keras_serializable as register_keras_serializable
from nbtf.keras.registry import serialized as _serialized
from nbtf.keras.session import clear_session as clear_session
from nbtf.keras.session import set_random_seed as set_random_seed
from nbtf.keras.training.progress import Progbar as Progbar
from nbtf.keras.training.py_dataset import PyDataset as PyDataset
from nbtf.keras.utils.arrays import pad_sequences as pad_sequences
from nbtf.keras.utils.arrays import to_categorical as to_categorical
from nbtf.keras.utils.drawing import plot_model as plot_model
from nbtf.keras.utils.images import array_to_img as array_to_img

Sequence = PyDataset
"""The name of `PyDataset` in Keras 2."""

deserialize_keras_object = _deserialized
serialize_keras_object = _serialized

_border.guard(__name__)
