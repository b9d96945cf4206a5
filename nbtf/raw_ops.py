"""`tf.raw_ops`: ops that no other public function runs, under their op types and TensorFlow's argument names."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from nbtf._ops.arrays import indexing, padding, shapes, unique_slices
from nbtf._ops.image import crops, projection, resizing
from nbtf._ops.math import exponentials
from nbtf._ops.nn import (
    activations,
    convolution,
    convolution_3d,
    depthwise_convolution,
    local_response,
    pooling,
    pooling_3d,
    pooling_positions,
)
from nbtf._ops.op import Op
from nbtf._ops.ragged_and_sparse import sparse_arithmetic, sparse_rows
from nbtf._ops.random import gamma
from nbtf._public import public_names as _public_names
from nbtf._types import int32


def __dir__() -> list[str]:
    return _public_names(__name__)


_NEEDED: Any = inspect.Parameter.empty


def _door(record: Op, parameters: str, **defaults: Any) -> Callable[..., Any]:
    """Returns the public function of an op.

    Args:
      record: the op.
      parameters: TensorFlow's names of its inputs and attributes, in the record's order.
      **defaults: default values of attributes that have one.
    """
    door = inspect.Parameter.POSITIONAL_OR_KEYWORD
    arguments = [inspect.Parameter(name, door, default=defaults.get(name, _NEEDED)) for name in parameters.split()]
    signature = inspect.Signature([*arguments, inspect.Parameter("name", door, default=None)])
    count = len(record.inputs)

    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"Invalid arguments for {record.type}{signature}: {error}") from None
        bound.apply_defaults()
        *values, name = bound.arguments.values()
        return record(*values[:count], name=name, **dict(zip(record.attrs, values[count:], strict=True)))

    call.__name__ = call.__qualname__ = record.type
    call.__doc__ = f"""Runs the op {record.type}.

    Args:
      {", ".join(parameters.split()[:count])}: tensors.
      {", ".join(parameters.split()[count:]) or "name"}: attributes of the op.

    Raises:
      TypeError: if an argument is missing or the op does not have it.
    """
    call.__signature__ = signature  # pyright: ignore[reportFunctionMemberAccess]  # read by `inspect`
    return call


AvgPoolGrad: Callable[..., Any] = _door(
    pooling.AvgPoolGrad, "grad orig_input_shape ksize strides padding data_format", data_format="NHWC"
)
Bucketize: Callable[..., Any] = _door(unique_slices.Bucketize, "input boundaries")
Conv2DBackpropFilter: Callable[..., Any] = _door(
    convolution.Conv2DBackpropFilter,
    "input out_backprop filter_sizes strides padding data_format dilations",
    data_format="NHWC",
    dilations=[1, 1, 1, 1],
)
AvgPool3DGrad: Callable[..., Any] = _door(
    pooling_3d.AvgPool3DGrad, "grad orig_input_shape ksize strides padding data_format", data_format="NDHWC"
)
Conv3DBackpropFilterV2: Callable[..., Any] = _door(
    convolution_3d.Conv3DBackpropFilterV2,
    "input out_backprop filter_sizes strides padding data_format dilations",
    data_format="NDHWC",
    dilations=[1, 1, 1, 1, 1],
)
DepthwiseConv2dNativeBackpropFilter: Callable[..., Any] = _door(
    depthwise_convolution.DepthwiseConv2dNativeBackpropFilter,
    "input out_backprop filter_sizes strides padding data_format",
    data_format="NHWC",
)
DepthwiseConv2dNativeBackpropInput: Callable[..., Any] = _door(
    depthwise_convolution.DepthwiseConv2dNativeBackpropInput,
    "filter out_backprop input_sizes strides padding data_format",
    data_format="NHWC",
)
ImageProjectiveTransformV3: Callable[..., Any] = _door(
    projection.ImageProjectiveTransformV3,
    "images transforms output_shape fill_value interpolation fill_mode",
    fill_mode="CONSTANT",
)
LRNGrad: Callable[..., Any] = _door(
    local_response.LRNGrad,
    "input_grads input_image output_image depth_radius bias alpha beta",
    depth_radius=5,
    bias=1.0,
    alpha=1.0,
    beta=0.5,
)
_OF_WINDOWS = "orig_input orig_output grad ksize strides padding data_format"
MaxPoolGrad: Callable[..., Any] = _door(pooling.MaxPoolGrad, _OF_WINDOWS, data_format="NHWC")
MaxPoolGradGrad: Callable[..., Any] = _door(pooling.MaxPoolGradGrad, _OF_WINDOWS, data_format="NHWC")
MaxPool3DGrad: Callable[..., Any] = _door(pooling_3d.MaxPool3DGrad, _OF_WINDOWS, data_format="NDHWC")
MaxPool3DGradGrad: Callable[..., Any] = _door(pooling_3d.MaxPool3DGradGrad, _OF_WINDOWS, data_format="NDHWC")
MirrorPadGrad: Callable[..., Any] = _door(padding.MirrorPadGrad, "input paddings mode")
RandomGammaGrad: Callable[..., Any] = _door(gamma.RandomGammaGrad, "alpha sample")
Rank: Callable[..., Any] = _door(shapes.Rank, "input")
ReluGrad: Callable[..., Any] = _door(activations.ReluGrad, "gradients features")
ResizeBicubicGrad: Callable[..., Any] = _door(
    resizing.ResizeBicubicGrad, "grads original_image half_pixel_centers", half_pixel_centers=False
)
CropAndResizeGradBoxes: Callable[..., Any] = _door(
    crops.CropAndResizeGradBoxes, "grads image boxes box_ind method", method="bilinear"
)
CropAndResizeGradImage: Callable[..., Any] = _door(
    crops.CropAndResizeGradImage, "grads boxes box_ind image_size T method", method="bilinear"
)
MaxPoolGradWithArgmax: Callable[..., Any] = _door(
    pooling_positions.MaxPoolGradWithArgmax,
    "input grad argmax ksize strides padding include_batch_in_index",
    include_batch_in_index=False,
)
ResizeBilinearGrad: Callable[..., Any] = _door(
    resizing.ResizeBilinearGrad, "grads original_image half_pixel_centers", half_pixel_centers=False
)
ResizeNearestNeighborGrad: Callable[..., Any] = _door(
    resizing.ResizeNearestNeighborGrad, "grads size half_pixel_centers", half_pixel_centers=False
)
ScaleAndTranslateGrad: Callable[..., Any] = _door(
    resizing.ScaleAndTranslateGrad,
    "grads original_image scale translation kernel_type antialias",
    kernel_type="lanczos3",
    antialias=True,
)
SigmoidGrad: Callable[..., Any] = _door(exponentials.SigmoidGrad, "y dy")
Size: Callable[..., Any] = _door(shapes.Size, "input out_type", out_type=int32)
SparseAddGrad: Callable[..., Any] = _door(
    sparse_arithmetic.SparseAddGrad, "backprop_val_grad a_indices b_indices sum_indices"
)
SparseFillEmptyRowsGrad: Callable[..., Any] = _door(
    sparse_rows.SparseFillEmptyRowsGrad, "reverse_index_map grad_values"
)
StridedSliceGrad: Callable[..., Any] = _door(
    indexing.StridedSliceGrad, "dy shape begin end strides masks", masks=indexing.Masks(0, 0, 0, 0, 0)
)
TanhGrad: Callable[..., Any] = _door(exponentials.TanhGrad, "y dy")
UniqueV2: Callable[..., Any] = _door(unique_slices.UniqueV2, "x axis out_idx", out_idx=int32)
UniqueWithCountsV2: Callable[..., Any] = _door(unique_slices.UniqueWithCountsV2, "x axis out_idx", out_idx=int32)
