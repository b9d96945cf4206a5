"""Device placement and GPU memory, made visible: a small eager runtime with TensorFlow's device API.

>>> c = tf.matmul([[1.0, 2.0]], [[3.0], [4.0]])
>>> c
<tf.Tensor: shape=(1, 1), dtype=float32, numpy=array([[11.]], dtype=float32)>
"""

from __future__ import annotations

import typing as _typing
from importlib import import_module as _import_module
from os import environ as _environ
from types import ModuleType as _ModuleType
from typing import Any as _Any

from nbtf import _types
from nbtf import errors as errors
from nbtf._devices.names import DeviceSpec as DeviceSpec
from nbtf._ops import operators as _operators  # noqa: F401  # pyright: ignore[reportUnusedImport]  # +, - and so on
from nbtf._ops.arrays.broadcasting import broadcast_to as broadcast_to
from nbtf._ops.arrays.broadcasting import reshape as reshape
from nbtf._ops.arrays.creation import constant as constant
from nbtf._ops.arrays.creation import convert_to_tensor as convert_to_tensor
from nbtf._ops.arrays.creation import executing_eagerly as executing_eagerly
from nbtf._ops.arrays.creation import fill as fill
from nbtf._ops.arrays.creation import get_static_value as get_static_value
from nbtf._ops.arrays.creation import inside_function as inside_function
from nbtf._ops.arrays.creation import is_tensor as is_tensor
from nbtf._ops.arrays.creation import ones as ones
from nbtf._ops.arrays.creation import ones_like as ones_like
from nbtf._ops.arrays.creation import zeros as zeros
from nbtf._ops.arrays.creation import zeros_like as zeros_like
from nbtf._ops.arrays.identity import ensure_shape as ensure_shape
from nbtf._ops.arrays.identity import identity as identity
from nbtf._ops.arrays.identity import identity_n as identity_n
from nbtf._ops.arrays.identity import stop_gradient as stop_gradient
from nbtf._ops.arrays.indexing import strided_slice as strided_slice
from nbtf._ops.arrays.joining import concat as concat
from nbtf._ops.arrays.joining import split as split
from nbtf._ops.arrays.joining import stack as stack
from nbtf._ops.arrays.joining import unstack as unstack
from nbtf._ops.arrays.shapes import broadcast_dynamic_shape as broadcast_dynamic_shape
from nbtf._ops.arrays.shapes import broadcast_static_shape as broadcast_static_shape
from nbtf._ops.arrays.shapes import expand_dims as expand_dims
from nbtf._ops.arrays.shapes import rank as rank
from nbtf._ops.arrays.shapes import shape as shape
from nbtf._ops.arrays.shapes import size as size
from nbtf._ops.arrays.shapes import squeeze as squeeze
from nbtf._ops.arrays.shapes import transpose as transpose
from nbtf._ops.linalg.products import matmul as matmul
from nbtf._ops.math.arithmetic import add as add
from nbtf._ops.math.arithmetic import add_n as add_n
from nbtf._ops.math.arithmetic import cast as cast
from nbtf._ops.math.arithmetic import multiply as multiply
from nbtf._ops.math.arithmetic import negative as negative
from nbtf._ops.math.arithmetic import scalar_mul as scalar_mul
from nbtf._ops.math.arithmetic import subtract as subtract
from nbtf._ops.math.comparison import equal as equal
from nbtf._ops.math.comparison import greater as greater
from nbtf._ops.math.comparison import greater_equal as greater_equal
from nbtf._ops.math.comparison import less as less
from nbtf._ops.math.comparison import less_equal as less_equal
from nbtf._ops.math.comparison import not_equal as not_equal
from nbtf._ops.math.comparison import where as where
from nbtf._ops.math.complex_numbers import complex as complex
from nbtf._ops.math.division import divide as divide
from nbtf._ops.math.division import truediv as truediv
from nbtf._ops.math.division import truncatediv as truncatediv
from nbtf._ops.math.division import truncatemod as truncatemod
from nbtf._ops.math.exponentials import exp as exp
from nbtf._ops.math.exponentials import pow as pow
from nbtf._ops.math.exponentials import sigmoid as sigmoid
from nbtf._ops.math.exponentials import sqrt as sqrt
from nbtf._ops.math.exponentials import tanh as tanh
from nbtf._ops.math.logic import logical_and as logical_and
from nbtf._ops.math.logic import logical_not as logical_not
from nbtf._ops.math.logic import logical_or as logical_or
from nbtf._ops.math.magnitude import abs as abs
from nbtf._ops.math.magnitude import clip_by_value as clip_by_value
from nbtf._ops.math.magnitude import maximum as maximum
from nbtf._ops.math.magnitude import minimum as minimum
from nbtf._ops.math.magnitude import saturate_cast as saturate_cast
from nbtf._ops.math.magnitude import sign as sign
from nbtf._ops.math.magnitude import square as square
from nbtf._ops.reductions.sums import reduce_sum as reduce_sum
from nbtf._runtime.device import device as device
from nbtf._runtime.logger import get_logger as get_logger
from nbtf._runtime.tensor import Tensor as Tensor
from nbtf._shapes import TensorShape as TensorShape
from nbtf._shapes import TensorSpec as TensorSpec
from nbtf._shapes import TypeSpec as TypeSpec
from nbtf._types import DType as DType
from nbtf._types import as_dtype as as_dtype
from nbtf._types import bfloat16 as bfloat16
from nbtf._types import complex64 as complex64
from nbtf._types import complex128 as complex128
from nbtf._types import float16 as float16
from nbtf._types import float32 as float32
from nbtf._types import float64 as float64
from nbtf._types import int8 as int8
from nbtf._types import int16 as int16
from nbtf._types import int32 as int32
from nbtf._types import int64 as int64
from nbtf._types import resource as resource
from nbtf._types import string as string
from nbtf._types import uint8 as uint8
from nbtf._types import uint16 as uint16
from nbtf._types import uint32 as uint32
from nbtf._types import uint64 as uint64
from nbtf._types import variant as variant
from nbtf.version import VERSION as _VERSION

if _typing.TYPE_CHECKING:  # loaded on first use; listed here for editors and type checkers
    from nbtf import autodiff as autodiff
    from nbtf import autograph as autograph
    from nbtf import bitwise as bitwise
    from nbtf import compat as compat
    from nbtf import config as config
    from nbtf import data as data
    from nbtf import debugging as debugging
    from nbtf import distribute as distribute
    from nbtf import dtypes as dtypes
    from nbtf import experimental as experimental
    from nbtf import image as image
    from nbtf import io as io
    from nbtf import keras as keras
    from nbtf import linalg as linalg
    from nbtf import lookup as lookup
    from nbtf import math as math
    from nbtf import nest as nest
    from nbtf import nn as nn
    from nbtf import notebook as notebook
    from nbtf import quantization as quantization
    from nbtf import ragged as ragged
    from nbtf import random as random
    from nbtf import raw_ops as raw_ops
    from nbtf import runtime as runtime
    from nbtf import saved_model as saved_model
    from nbtf import sets as sets
    from nbtf import signal as signal
    from nbtf import sparse as sparse
    from nbtf import strings as strings
    from nbtf import summary as summary
    from nbtf import sysconfig as sysconfig
    from nbtf import test as test
    from nbtf import train as train
    from nbtf import version as version
    from nbtf._graph.function import function as function
    from nbtf._graph.trial import init_scope as init_scope
    from nbtf._ops.arrays.batch_blocks import batch_to_space as batch_to_space
    from nbtf._ops.arrays.batch_blocks import required_space_to_batch_paddings as required_space_to_batch_paddings
    from nbtf._ops.arrays.batch_blocks import space_to_batch as space_to_batch
    from nbtf._ops.arrays.batch_blocks import space_to_batch_nd as space_to_batch_nd
    from nbtf._ops.arrays.bitcast import bitcast as bitcast
    from nbtf._ops.arrays.coordinates import gather_nd as gather_nd
    from nbtf._ops.arrays.coordinates import scatter_nd as scatter_nd
    from nbtf._ops.arrays.gathering import boolean_mask as boolean_mask
    from nbtf._ops.arrays.gathering import gather as gather
    from nbtf._ops.arrays.gathering import repeat as repeat
    from nbtf._ops.arrays.padding import pad as pad
    from nbtf._ops.arrays.padding import tile as tile
    from nbtf._ops.arrays.partitions import dynamic_partition as dynamic_partition
    from nbtf._ops.arrays.partitions import dynamic_stitch as dynamic_stitch
    from nbtf._ops.arrays.partitions import sequence_mask as sequence_mask
    from nbtf._ops.arrays.ranges import linspace as linspace
    from nbtf._ops.arrays.ranges import meshgrid as meshgrid
    from nbtf._ops.arrays.ranges import one_hot as one_hot
    from nbtf._ops.arrays.ranges import range as range
    from nbtf._ops.arrays.scattering import tensor_scatter_nd_add as tensor_scatter_nd_add
    from nbtf._ops.arrays.scattering import tensor_scatter_nd_max as tensor_scatter_nd_max
    from nbtf._ops.arrays.scattering import tensor_scatter_nd_min as tensor_scatter_nd_min
    from nbtf._ops.arrays.scattering import tensor_scatter_nd_sub as tensor_scatter_nd_sub
    from nbtf._ops.arrays.scattering import tensor_scatter_nd_update as tensor_scatter_nd_update
    from nbtf._ops.arrays.searching import searchsorted as searchsorted
    from nbtf._ops.arrays.searching import unique as unique
    from nbtf._ops.arrays.searching import unique_with_counts as unique_with_counts
    from nbtf._ops.arrays.sequences import reverse_sequence as reverse_sequence
    from nbtf._ops.arrays.slicing import reverse as reverse
    from nbtf._ops.arrays.slicing import roll as roll
    from nbtf._ops.arrays.slicing import slice as slice
    from nbtf._ops.arrays.tensor_array import TensorArray as TensorArray
    from nbtf._ops.control.flow import case as case
    from nbtf._ops.control.flow import cond as cond
    from nbtf._ops.control.flow import control_dependencies as control_dependencies
    from nbtf._ops.control.flow import group as group
    from nbtf._ops.control.flow import no_op as no_op
    from nbtf._ops.control.flow import switch_case as switch_case
    from nbtf._ops.control.flow import while_loop as while_loop
    from nbtf._ops.control.functional import foldl as foldl
    from nbtf._ops.control.functional import foldr as foldr
    from nbtf._ops.control.functional import map_fn as map_fn
    from nbtf._ops.control.functional import scan as scan
    from nbtf._ops.control.functional import vectorized_map as vectorized_map
    from nbtf._ops.control.printing import print as print
    from nbtf._ops.linalg.einsum import einsum as einsum
    from nbtf._ops.linalg.einsum import tensordot as tensordot
    from nbtf._ops.linalg.eye import eye as eye
    from nbtf._ops.linalg.norms import clip_by_global_norm as clip_by_global_norm
    from nbtf._ops.linalg.norms import clip_by_norm as clip_by_norm
    from nbtf._ops.linalg.norms import norm as norm
    from nbtf._ops.math.cumulative import cumsum as cumsum
    from nbtf._ops.math.histograms import histogram_fixed_width as histogram_fixed_width
    from nbtf._ops.math.histograms import histogram_fixed_width_bins as histogram_fixed_width_bins
    from nbtf._ops.math.ordering import argsort as argsort
    from nbtf._ops.math.ordering import sort as sort
    from nbtf._ops.math.rounding import floor as floor
    from nbtf._ops.math.rounding import round as round
    from nbtf._ops.math.trigonometry import acos as acos
    from nbtf._ops.math.trigonometry import acosh as acosh
    from nbtf._ops.math.trigonometry import asin as asin
    from nbtf._ops.math.trigonometry import asinh as asinh
    from nbtf._ops.math.trigonometry import atan as atan
    from nbtf._ops.math.trigonometry import atan2 as atan2
    from nbtf._ops.math.trigonometry import atanh as atanh
    from nbtf._ops.math.trigonometry import cos as cos
    from nbtf._ops.math.trigonometry import cosh as cosh
    from nbtf._ops.math.trigonometry import sin as sin
    from nbtf._ops.math.trigonometry import sinh as sinh
    from nbtf._ops.math.trigonometry import tan as tan
    from nbtf._ops.module import Module as Module
    from nbtf._ops.python_functions import numpy_function as numpy_function
    from nbtf._ops.python_functions import py_function as py_function
    from nbtf._ops.ragged_and_sparse.indexed_slices import IndexedSlices as IndexedSlices
    from nbtf._ops.ragged_and_sparse.ragged import RaggedTensor as RaggedTensor
    from nbtf._ops.ragged_and_sparse.sparse import SparseTensor as SparseTensor
    from nbtf._ops.reductions.extreme_indices import argmax as argmax
    from nbtf._ops.reductions.extreme_indices import argmin as argmin
    from nbtf._ops.reductions.means_and_extremes import reduce_max as reduce_max
    from nbtf._ops.reductions.means_and_extremes import reduce_mean as reduce_mean
    from nbtf._ops.reductions.means_and_extremes import reduce_min as reduce_min
    from nbtf._ops.reductions.means_and_extremes import reduce_prod as reduce_prod
    from nbtf._ops.reductions.statistics import reduce_logsumexp as reduce_logsumexp
    from nbtf._ops.reductions.truth import reduce_all as reduce_all
    from nbtf._ops.reductions.truth import reduce_any as reduce_any
    from nbtf._ops.strings.texts import as_string as as_string
    from nbtf._ops.variables.creation import VariableAggregation as VariableAggregation
    from nbtf._ops.variables.creation import VariableSynchronization as VariableSynchronization
    from nbtf._ops.variables.creation import variable_creator_scope as variable_creator_scope
    from nbtf._ops.variables.initializers import constant_initializer as constant_initializer
    from nbtf._ops.variables.initializers import ones_initializer as ones_initializer
    from nbtf._ops.variables.initializers import random_normal_initializer as random_normal_initializer
    from nbtf._ops.variables.initializers import random_uniform_initializer as random_uniform_initializer
    from nbtf._ops.variables.initializers import zeros_initializer as zeros_initializer
    from nbtf._ops.variables.variable import Variable as Variable
    from nbtf._runtime.names import name_scope as name_scope
    from nbtf.autodiff import AggregationMethod as AggregationMethod
    from nbtf.autodiff import GradientTape as GradientTape
    from nbtf.autodiff import UnconnectedGradients as UnconnectedGradients
    from nbtf.autodiff import custom_gradient as custom_gradient
    from nbtf.autodiff import grad_pass_through as grad_pass_through
    from nbtf.autodiff import gradients as gradients
    from nbtf.autodiff import hessians as hessians
    from nbtf.autodiff import recompute_grad as recompute_grad
    from nbtf.compat._v1._graph.graph import Graph as Graph
    from nbtf.config import gpu as gpu  # the 2.0 alpha guide's text says tf.gpu, its code tf.config.gpu
    from nbtf.data.iterators import OptionalSpec as OptionalSpec
    from nbtf.data.specs import RaggedTensorSpec as RaggedTensorSpec
    from nbtf.data.specs import SparseTensorSpec as SparseTensorSpec
    from nbtf.debugging import Assert as Assert
    from nbtf.debugging import assert_equal as assert_equal
    from nbtf.debugging import assert_greater as assert_greater
    from nbtf.debugging import assert_less as assert_less
    from nbtf.debugging import assert_rank as assert_rank
    from nbtf.keras import initializers as initializers
    from nbtf.keras import losses as losses
    from nbtf.keras import metrics as metrics
    from nbtf.keras import optimizers as optimizers
    from nbtf.notebook import load_ipython_extension as load_ipython_extension
    from nbtf.notebook import unload_ipython_extension as unload_ipython_extension

__version__ = _VERSION
"""The TensorFlow version whose behaviour nbtf follows; nbtf's own version is `tf.runtime.version`."""

bool: DType = _types.bool_
half = float16
double = float64
newaxis = None

_LOADED_ON_FIRST_USE = frozenset(
    (
        "autodiff autograph bitwise compat config data debugging distribute dtypes experimental image io keras linalg "
        "lookup math nest nn notebook quantization ragged random raw_ops runtime saved_model sets signal sparse "
        "strings summary sysconfig test train version"
    ).split()
)
"""Namespaces that `import nbtf` does not load, so that it costs little more than `import numpy`."""

_FETCHED_ON_FIRST_USE = {
    name: module
    for module, names in {
        "nbtf._graph.function": "function",
        "nbtf._graph.trial": "init_scope",
        "nbtf._ops.arrays.batch_blocks": (
            "batch_to_space required_space_to_batch_paddings space_to_batch space_to_batch_nd"
        ),
        "nbtf._ops.arrays.bitcast": "bitcast",
        "nbtf._ops.arrays.coordinates": "gather_nd scatter_nd",
        "nbtf._ops.arrays.gathering": "boolean_mask gather repeat",
        "nbtf._ops.arrays.padding": "pad tile",
        "nbtf._ops.arrays.partitions": "dynamic_partition dynamic_stitch sequence_mask",
        "nbtf._ops.arrays.ranges": "linspace meshgrid one_hot range",
        "nbtf._ops.arrays.scattering": (
            "tensor_scatter_nd_add tensor_scatter_nd_max tensor_scatter_nd_min tensor_scatter_nd_sub "
            "tensor_scatter_nd_update"
        ),
        "nbtf._ops.arrays.searching": "searchsorted unique unique_with_counts",
        "nbtf._ops.arrays.sequences": "reverse_sequence",
        "nbtf._ops.arrays.slicing": "reverse roll slice",
        "nbtf._ops.arrays.tensor_array": "TensorArray",
        "nbtf._ops.control.flow": "case cond control_dependencies group no_op switch_case while_loop",
        "nbtf._ops.control.functional": "foldl foldr map_fn scan vectorized_map",
        "nbtf._ops.control.printing": "print",
        "nbtf._ops.linalg.einsum": "einsum tensordot",
        "nbtf._ops.linalg.eye": "eye",
        "nbtf._ops.linalg.norms": "clip_by_global_norm clip_by_norm norm",
        "nbtf._ops.math.cumulative": "cumsum",
        "nbtf._ops.math.histograms": "histogram_fixed_width histogram_fixed_width_bins",
        "nbtf._ops.math.ordering": "argsort sort",
        "nbtf._ops.math.rounding": "floor round",
        "nbtf._ops.math.trigonometry": "acos acosh asin asinh atan atan2 atanh cos cosh sin sinh tan",
        "nbtf._ops.module": "Module",
        "nbtf._ops.python_functions": "numpy_function py_function",
        "nbtf._ops.ragged_and_sparse.indexed_slices": "IndexedSlices",
        "nbtf._ops.ragged_and_sparse.ragged": "RaggedTensor",
        "nbtf._ops.ragged_and_sparse.sparse": "SparseTensor",
        "nbtf._ops.reductions.extreme_indices": "argmax argmin",
        "nbtf._ops.reductions.means_and_extremes": "reduce_max reduce_mean reduce_min reduce_prod",
        "nbtf._ops.reductions.statistics": "reduce_logsumexp",
        "nbtf._ops.reductions.truth": "reduce_all reduce_any",
        "nbtf._ops.strings.texts": "as_string",
        "nbtf._ops.variables.creation": "VariableAggregation VariableSynchronization variable_creator_scope",
        "nbtf._ops.variables.initializers": (
            "constant_initializer ones_initializer random_normal_initializer random_uniform_initializer "
            "zeros_initializer"
        ),
        "nbtf._ops.variables.variable": "Variable",
        "nbtf._runtime.names": "name_scope",
        "nbtf.autodiff": (
            "AggregationMethod GradientTape UnconnectedGradients custom_gradient grad_pass_through gradients "
            "hessians recompute_grad"
        ),
        "nbtf.compat._v1._graph.graph": "Graph",
        "nbtf.config": "gpu",
        "nbtf.data.iterators": "OptionalSpec",
        "nbtf.data.specs": "RaggedTensorSpec SparseTensorSpec",
        "nbtf.debugging": "Assert assert_equal assert_greater assert_less assert_rank",
    }.items()
    for name in names.split()
}
"""Single names that `import nbtf` does not load, and the modules that define them."""

_OF_KERAS = frozenset({"initializers", "losses", "metrics", "optimizers"})
"""Namespaces of `tf.keras` that are accessible before `tf.keras` is loaded."""

_FOR_IPYTHON = frozenset({"load_ipython_extension", "unload_ipython_extension"})
"""The names that `%load_ext nbtf` needs; they are not part of the public `tf.` namespace."""


_FOR_LIBRARIES = {
    "__internal__": "nbtf._as_tensorflow.internal",
    "present_as_tensorflow": "nbtf.runtime",
    "types": "nbtf._as_tensorflow.types",
}
"""Names for libraries that import TensorFlow, which are not part of the public `tf.` namespace, and their modules."""


# The notebook's views are imported late, as few programs draw or print them. The layers below call these functions.


def _save_page(record: runtime.Recording, path: _Any) -> None:  # pyright: ignore[reportUnusedFunction]
    _import_module("nbtf.notebook").save_page(record, path)


def _event_rows(snapshot: runtime.Snapshot, code_line: _Any) -> _Any:  # pyright: ignore[reportUnusedFunction]
    return _import_module("nbtf.notebook.magics.export").event_rows(snapshot, code_line)


def _save_opened_page(opened: _Any, path: _Any) -> None:  # pyright: ignore[reportUnusedFunction]
    _import_module("nbtf.notebook.opened_files").save_page_of(opened, path)


def _bundle_of(displayed: _Any) -> _Any:  # pyright: ignore[reportUnusedFunction]
    return _import_module("nbtf.notebook.magics.rich_display").bundle_of(displayed)


def _image_of(displayed: _Any) -> str | None:  # pyright: ignore[reportUnusedFunction]
    return _import_module("nbtf.notebook.magics.rich_display").image_of(displayed)


def _picture_of(displayed: _Any) -> str | None:  # pyright: ignore[reportUnusedFunction]
    return _import_module("nbtf.notebook.magics.rich_display").picture_of(displayed)


def _in_words(result: _Any) -> str:  # pyright: ignore[reportUnusedFunction]
    return _import_module("nbtf.notebook.snapshots.what_ifs").in_words(result)


if _environ.get("NBTF_SIMULATE"):  # libraries imported from now on find simulated GPUs
    _import_module("nbtf._frameworks.simulating").share_from_environment()

if _environ.get("NBTF_AS_TENSORFLOW"):  # `import tensorflow` means nbtf from now on
    _import_module("nbtf._as_tensorflow.presentation").present_from_environment()


if not _typing.TYPE_CHECKING:  # a type checker would conclude that any name exists

    def __getattr__(name: str) -> _Any:
        if name in _LOADED_ON_FIRST_USE:
            return _import_module(f"nbtf.{name}")
        if name in _FETCHED_ON_FIRST_USE:
            return globals().setdefault(name, getattr(_import_module(_FETCHED_ON_FIRST_USE[name]), name))
        if name in _OF_KERAS:
            return _import_module(f"nbtf.keras.{name}")
        if name in _FOR_IPYTHON:
            return getattr(_import_module("nbtf.notebook"), name)
        if name in _FOR_LIBRARIES:
            module = _import_module(_FOR_LIBRARIES[name])
            return getattr(module, name, module)
        raise _import_module("nbtf._missing").missing(name)


def __dir__() -> list[str]:
    # Submodules that have been loaded are not part of the public names.
    names = (name for name, value in globals().items() if name[0] != "_" and not isinstance(value, _ModuleType))
    lazy_names = _LOADED_ON_FIRST_USE.union(_FETCHED_ON_FIRST_USE, _OF_KERAS)
    return sorted(lazy_names.union(names, ("errors",)) - {"annotations"})
