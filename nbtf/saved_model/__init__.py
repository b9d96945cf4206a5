"""`tf.saved_model`: saves objects with variables and functions to a folder, and loads them from it."""

from nbtf._public import public_names as _public_names
from nbtf.saved_model.options import LoadOptions as LoadOptions
from nbtf.saved_model.options import SaveOptions as SaveOptions
from nbtf.saved_model.reading import contains_saved_model as contains_saved_model
from nbtf.saved_model.reading import load as load
from nbtf.saved_model.writing import save as save

DEFAULT_SERVING_SIGNATURE_DEF_KEY = "serving_default"
SERVING = "serve"
TRAINING = "train"
GPU = "gpu"


def __dir__() -> list[str]:
    return _public_names(__name__)
