"""`tf.initializers`: what makes the first values of variables, under TensorFlow 1's names."""

from __future__ import annotations

from nbtf.compat._v1._variables import initializers as _kinds
from nbtf.compat._v1._variables.initializing import global_variables_initializer as global_variables
from nbtf.compat._v1._variables.initializing import local_variables_initializer as local_variables
from nbtf.compat._v1._variables.initializing import tables_initializer as tables_initializer
from nbtf.compat._v1._variables.initializing import variables_initializer as variables

constant = _kinds.Constant
glorot_normal = _kinds.GlorotNormal
glorot_uniform = _kinds.GlorotUniform
he_normal = _kinds.HeNormal
he_uniform = _kinds.HeUniform
identity = _kinds.Identity
lecun_normal = _kinds.LecunNormal
lecun_uniform = _kinds.LecunUniform
ones = _kinds.Ones
orthogonal = _kinds.Orthogonal
random_normal = _kinds.RandomNormal
random_uniform = _kinds.RandomUniform
truncated_normal = _kinds.TruncatedNormal
uniform_unit_scaling = _kinds.UniformUnitScaling
variance_scaling = _kinds.VarianceScaling
zeros = _kinds.Zeros

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
