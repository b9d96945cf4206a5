"""`tf.keras.utils`: helper functions for data, files and models."""

from nbtf._public import public_names as _public_names
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
from nbtf.keras.utils.arrays import normalize as normalize
from nbtf.keras.utils.arrays import pack_x_y_sample_weight as pack_x_y_sample_weight
from nbtf.keras.utils.arrays import pad_sequences as pad_sequences
from nbtf.keras.utils.arrays import split_dataset as split_dataset
from nbtf.keras.utils.arrays import to_categorical as to_categorical
from nbtf.keras.utils.arrays import unpack_x_y_sample_weight as unpack_x_y_sample_weight
from nbtf.keras.utils.drawing import model_to_dot as model_to_dot
from nbtf.keras.utils.drawing import plot_model as plot_model
from nbtf.keras.utils.files import get_file as get_file
from nbtf.keras.utils.images import array_to_img as array_to_img
from nbtf.keras.utils.images import img_to_array as img_to_array
from nbtf.keras.utils.images import load_img as load_img
from nbtf.keras.utils.images import save_img as save_img
from nbtf.keras.utils.tensor_checks import is_keras_tensor as is_keras_tensor
from nbtf.keras.utils.tensor_checks import standardize_dtype as standardize_dtype

Sequence = PyDataset
"""The name of `PyDataset` in Keras 2."""

deserialize_keras_object = _deserialized
serialize_keras_object = _serialized


def __dir__() -> list[str]:
    return _public_names(__name__)
