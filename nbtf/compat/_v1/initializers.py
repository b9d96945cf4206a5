"""`tf.initializers`: initializers of variables, under TensorFlow 1's names."""

from __future__ import annotations

from typing import NoReturn as _NoReturn

from nbtf._missing import of_tensorflow_1 as _missing
from nbtf._public import public_names as _public_names
from nbtf.compat._v1._variables import initializers as _initializers
from nbtf.compat._v1._variables import initializing as _initializing

constant = _initializers.Constant
glorot_normal = _initializers.GlorotNormal
glorot_uniform = _initializers.GlorotUniform
he_normal = _initializers.HeNormal
he_uniform = _initializers.HeUniform
lecun_normal = _initializers.LecunNormal
lecun_uniform = _initializers.LecunUniform
ones = _initializers.Ones
orthogonal = _initializers.Orthogonal
random_normal = _initializers.RandomNormal
random_uniform = _initializers.RandomUniform
truncated_normal = _initializers.TruncatedNormal
variance_scaling = _initializers.VarianceScaling
zeros = _initializers.Zeros

global_variables = _initializing.global_variables_initializer
local_variables = _initializing.local_variables_initializer
tables_initializer = _initializing.tables_initializer
variables = _initializing.variables_initializer


def __dir__() -> list[str]:
    return _public_names(__name__)


def __getattr__(name: str) -> _NoReturn:
    raise _missing(f"initializers.{name}")
