"""`tf.initializers`: initializers of variables, under TensorFlow 1's names."""

from __future__ import annotations

from nbtf._public import public_names as _public_names
from nbtf.compat._v1._variables import initializers as _initializers
from nbtf.compat._v1._variables.initializing import global_variables_initializer as global_variables
from nbtf.compat._v1._variables.initializing import local_variables_initializer as local_variables
from nbtf.compat._v1._variables.initializing import tables_initializer as tables_initializer
from nbtf.compat._v1._variables.initializing import variables_initializer as variables


def __dir__() -> list[str]:
    return _public_names(__name__)


constant = _initializers.Constant
glorot_normal = _initializers.GlorotNormal
glorot_uniform = _initializers.GlorotUniform
he_normal = _initializers.HeNormal
he_uniform = _initializers.HeUniform
identity = _initializers.Identity
lecun_normal = _initializers.LecunNormal
lecun_uniform = _initializers.LecunUniform
ones = _initializers.Ones
orthogonal = _initializers.Orthogonal
random_normal = _initializers.RandomNormal
random_uniform = _initializers.RandomUniform
truncated_normal = _initializers.TruncatedNormal
uniform_unit_scaling = _initializers.UniformUnitScaling
variance_scaling = _initializers.VarianceScaling
zeros = _initializers.Zeros

__all__ = [
    "constant",
    "global_variables",
    "glorot_normal",
    "glorot_uniform",
    "he_normal",
    "he_uniform",
    "identity",
    "lecun_normal",
    "lecun_uniform",
    "local_variables",
    "ones",
    "orthogonal",
    "random_normal",
    "random_uniform",
    "tables_initializer",
    "truncated_normal",
    "uniform_unit_scaling",
    "variables",
    "variance_scaling",
    "zeros",
]
