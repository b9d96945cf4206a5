"""`tf.keras.config`: what layers compute with unless they are told otherwise."""

from nbtf.keras.dtypes import dtype_policy as dtype_policy
from nbtf.keras.dtypes import epsilon as epsilon
from nbtf.keras.dtypes import floatx as floatx
from nbtf.keras.dtypes import set_dtype_policy as set_dtype_policy
from nbtf.keras.dtypes import set_epsilon as set_epsilon
from nbtf.keras.dtypes import set_floatx as set_floatx


def backend() -> str:
    """Returns `"tensorflow"`: programs written for it run here."""
    return "tensorflow"


def image_data_format() -> str:
    """Returns `"channels_last"`."""
    return "channels_last"


def enable_unsafe_deserialization() -> None:
    """Does nothing: code is never loaded from files."""


def disable_traceback_filtering() -> None:
    """Does nothing: nothing is left out of tracebacks."""


def enable_traceback_filtering() -> None:
    """Does nothing: nothing is left out of tracebacks."""


def is_traceback_filtering_enabled() -> bool:
    """Returns False: nothing is left out of tracebacks."""
    return False
