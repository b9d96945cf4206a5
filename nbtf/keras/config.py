"""`tf.keras.config`: default settings of layers, such as their float type."""

from nbtf.debugging import disable_traceback_filtering as disable_traceback_filtering
from nbtf.debugging import enable_traceback_filtering as enable_traceback_filtering
from nbtf.debugging import is_traceback_filtering_enabled as is_traceback_filtering_enabled
from nbtf.keras import border as _border
from nbtf.keras.dtypes import dtype_policy as dtype_policy
from nbtf.keras.dtypes import epsilon as epsilon
from nbtf.keras.dtypes import floatx as floatx
from nbtf.keras.dtypes import set_dtype_policy as set_dtype_policy
from nbtf.keras.dtypes import set_epsilon as set_epsilon
from nbtf.keras.dtypes import set_floatx as set_floatx


def backend() -> str:
    """Returns `"tensorflow"`: nbtf runs programs written for this backend."""
    return "tensorflow"


def image_data_format() -> str:
    """Returns `"channels_last"`."""
    return "channels_last"


def enable_unsafe_deserialization() -> None:
    """Does nothing: nbtf never loads code from files."""


_border.guard(__name__)
