"""`tf.experimental.numpy`: NumPy functions that accept and return tensors."""

import numpy as _np

from nbtf._runtime.tensor import Tensor as _Tensor
from nbtf.experimental.numpy import random as random
from nbtf.experimental.numpy.arrays import append as append
from nbtf.experimental.numpy.arrays import arange as arange
from nbtf.experimental.numpy.arrays import array as array
from nbtf.experimental.numpy.arrays import broadcast_to as broadcast_to
from nbtf.experimental.numpy.arrays import concatenate as concatenate
from nbtf.experimental.numpy.arrays import copy as copy
from nbtf.experimental.numpy.arrays import diag as diag
from nbtf.experimental.numpy.arrays import empty as empty
from nbtf.experimental.numpy.arrays import empty_like as empty_like
from nbtf.experimental.numpy.arrays import expand_dims as expand_dims
from nbtf.experimental.numpy.arrays import eye as eye
from nbtf.experimental.numpy.arrays import flatten as flatten
from nbtf.experimental.numpy.arrays import flip as flip
from nbtf.experimental.numpy.arrays import full as full
from nbtf.experimental.numpy.arrays import full_like as full_like
from nbtf.experimental.numpy.arrays import hstack as hstack
from nbtf.experimental.numpy.arrays import identity as identity
from nbtf.experimental.numpy.arrays import linspace as linspace
from nbtf.experimental.numpy.arrays import meshgrid as meshgrid
from nbtf.experimental.numpy.arrays import moveaxis as moveaxis
from nbtf.experimental.numpy.arrays import ndim as ndim
from nbtf.experimental.numpy.arrays import newaxis as newaxis
from nbtf.experimental.numpy.arrays import ones as ones
from nbtf.experimental.numpy.arrays import ones_like as ones_like
from nbtf.experimental.numpy.arrays import ravel as ravel
from nbtf.experimental.numpy.arrays import repeat as repeat
from nbtf.experimental.numpy.arrays import reshape as reshape
from nbtf.experimental.numpy.arrays import roll as roll
from nbtf.experimental.numpy.arrays import shape as shape
from nbtf.experimental.numpy.arrays import size as size
from nbtf.experimental.numpy.arrays import split as split
from nbtf.experimental.numpy.arrays import squeeze as squeeze
from nbtf.experimental.numpy.arrays import stack as stack
from nbtf.experimental.numpy.arrays import swapaxes as swapaxes
from nbtf.experimental.numpy.arrays import take as take
from nbtf.experimental.numpy.arrays import tile as tile
from nbtf.experimental.numpy.arrays import transpose as transpose
from nbtf.experimental.numpy.arrays import tril as tril
from nbtf.experimental.numpy.arrays import triu as triu
from nbtf.experimental.numpy.arrays import vstack as vstack
from nbtf.experimental.numpy.arrays import zeros as zeros
from nbtf.experimental.numpy.arrays import zeros_like as zeros_like
from nbtf.experimental.numpy.behavior import experimental_enable_numpy_behavior as experimental_enable_numpy_behavior
from nbtf.experimental.numpy.elementwise import abs as abs
from nbtf.experimental.numpy.elementwise import absolute as absolute
from nbtf.experimental.numpy.elementwise import add as add
from nbtf.experimental.numpy.elementwise import arccos as arccos
from nbtf.experimental.numpy.elementwise import arccosh as arccosh
from nbtf.experimental.numpy.elementwise import arcsin as arcsin
from nbtf.experimental.numpy.elementwise import arcsinh as arcsinh
from nbtf.experimental.numpy.elementwise import arctan as arctan
from nbtf.experimental.numpy.elementwise import arctan2 as arctan2
from nbtf.experimental.numpy.elementwise import arctanh as arctanh
from nbtf.experimental.numpy.elementwise import around as around
from nbtf.experimental.numpy.elementwise import ceil as ceil
from nbtf.experimental.numpy.elementwise import clip as clip
from nbtf.experimental.numpy.elementwise import cos as cos
from nbtf.experimental.numpy.elementwise import cosh as cosh
from nbtf.experimental.numpy.elementwise import divide as divide
from nbtf.experimental.numpy.elementwise import equal as equal
from nbtf.experimental.numpy.elementwise import exp as exp
from nbtf.experimental.numpy.elementwise import expm1 as expm1
from nbtf.experimental.numpy.elementwise import fabs as fabs
from nbtf.experimental.numpy.elementwise import floor as floor
from nbtf.experimental.numpy.elementwise import floor_divide as floor_divide
from nbtf.experimental.numpy.elementwise import greater as greater
from nbtf.experimental.numpy.elementwise import greater_equal as greater_equal
from nbtf.experimental.numpy.elementwise import isclose as isclose
from nbtf.experimental.numpy.elementwise import isfinite as isfinite
from nbtf.experimental.numpy.elementwise import isinf as isinf
from nbtf.experimental.numpy.elementwise import isnan as isnan
from nbtf.experimental.numpy.elementwise import less as less
from nbtf.experimental.numpy.elementwise import less_equal as less_equal
from nbtf.experimental.numpy.elementwise import log as log
from nbtf.experimental.numpy.elementwise import log1p as log1p
from nbtf.experimental.numpy.elementwise import log2 as log2
from nbtf.experimental.numpy.elementwise import log10 as log10
from nbtf.experimental.numpy.elementwise import logical_and as logical_and
from nbtf.experimental.numpy.elementwise import logical_not as logical_not
from nbtf.experimental.numpy.elementwise import logical_or as logical_or
from nbtf.experimental.numpy.elementwise import logical_xor as logical_xor
from nbtf.experimental.numpy.elementwise import maximum as maximum
from nbtf.experimental.numpy.elementwise import minimum as minimum
from nbtf.experimental.numpy.elementwise import mod as mod
from nbtf.experimental.numpy.elementwise import multiply as multiply
from nbtf.experimental.numpy.elementwise import negative as negative
from nbtf.experimental.numpy.elementwise import nonzero as nonzero
from nbtf.experimental.numpy.elementwise import not_equal as not_equal
from nbtf.experimental.numpy.elementwise import positive as positive
from nbtf.experimental.numpy.elementwise import power as power
from nbtf.experimental.numpy.elementwise import reciprocal as reciprocal
from nbtf.experimental.numpy.elementwise import remainder as remainder
from nbtf.experimental.numpy.elementwise import round as round
from nbtf.experimental.numpy.elementwise import select as select
from nbtf.experimental.numpy.elementwise import sign as sign
from nbtf.experimental.numpy.elementwise import sin as sin
from nbtf.experimental.numpy.elementwise import sinh as sinh
from nbtf.experimental.numpy.elementwise import sqrt as sqrt
from nbtf.experimental.numpy.elementwise import square as square
from nbtf.experimental.numpy.elementwise import subtract as subtract
from nbtf.experimental.numpy.elementwise import tan as tan
from nbtf.experimental.numpy.elementwise import tanh as tanh
from nbtf.experimental.numpy.elementwise import true_divide as true_divide
from nbtf.experimental.numpy.elementwise import where as where
from nbtf.experimental.numpy.linear import dot as dot
from nbtf.experimental.numpy.linear import einsum as einsum
from nbtf.experimental.numpy.linear import inner as inner
from nbtf.experimental.numpy.linear import matmul as matmul
from nbtf.experimental.numpy.linear import outer as outer
from nbtf.experimental.numpy.linear import tensordot as tensordot
from nbtf.experimental.numpy.linear import trace as trace
from nbtf.experimental.numpy.linear import vdot as vdot
from nbtf.experimental.numpy.promotion import asarray as asarray
from nbtf.experimental.numpy.promotion import ascontiguousarray as ascontiguousarray
from nbtf.experimental.numpy.promotion import finfo as finfo
from nbtf.experimental.numpy.promotion import promote_types as promote_types
from nbtf.experimental.numpy.promotion import result_type as result_type
from nbtf.experimental.numpy.reductions import all as all
from nbtf.experimental.numpy.reductions import allclose as allclose
from nbtf.experimental.numpy.reductions import amax as amax
from nbtf.experimental.numpy.reductions import amin as amin
from nbtf.experimental.numpy.reductions import any as any
from nbtf.experimental.numpy.reductions import argmax as argmax
from nbtf.experimental.numpy.reductions import argmin as argmin
from nbtf.experimental.numpy.reductions import argsort as argsort
from nbtf.experimental.numpy.reductions import array_equal as array_equal
from nbtf.experimental.numpy.reductions import count_nonzero as count_nonzero
from nbtf.experimental.numpy.reductions import cumprod as cumprod
from nbtf.experimental.numpy.reductions import cumsum as cumsum
from nbtf.experimental.numpy.reductions import max as max
from nbtf.experimental.numpy.reductions import mean as mean
from nbtf.experimental.numpy.reductions import min as min
from nbtf.experimental.numpy.reductions import prod as prod
from nbtf.experimental.numpy.reductions import sort as sort
from nbtf.experimental.numpy.reductions import std as std
from nbtf.experimental.numpy.reductions import sum as sum
from nbtf.experimental.numpy.reductions import var as var

bool_ = _np.bool_
ndarray = _Tensor
int8 = _np.int8
int16 = _np.int16
int32 = _np.int32
int64 = _np.int64
int_ = _np.int64
uint8 = _np.uint8
uint16 = _np.uint16
uint32 = _np.uint32
uint64 = _np.uint64
float16 = _np.float16
float32 = _np.float32
float64 = _np.float64
float_ = _np.float64
complex64 = _np.complex64
complex128 = _np.complex128
complex_ = _np.complex128
inexact = _np.inexact
object_ = _np.object_
iinfo = _np.iinfo
issubdtype = _np.issubdtype
pi: float = _np.pi
e: float = _np.e
inf: float = _np.inf
asanyarray = asarray
