"""Resizes images."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nbtf._devices.base import Spec
from nbtf._ops.arrays.shapes import expand_dims, squeeze
from nbtf._ops.arrays.shapes import shape as shape_of
from nbtf._ops.attributes import as_ints
from nbtf._ops.image import interpolation
from nbtf._ops.math.arithmetic import cast
from nbtf._ops.math.magnitude import minimum
from nbtf._ops.math.rounding import round as rounded
from nbtf._ops.op import Gradients, op, unregistered
from nbtf._ops.specs import UNKNOWN, Dims, bracketed
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.tape import Call
from nbtf._runtime.tensor import Tensor
from nbtf._types import FLOATS, REALS, TensorLike, float32, float64, int32
from nbtf.errors import InvalidArgumentError


def _resized(images: Any, size: Any, **attrs: Any) -> Dims:
    """Returns the shape of resized images: two requested lengths, the others unchanged."""
    height, width = (None, None) if size is UNKNOWN else size
    batch, channels = (None, None) if images.shape is None else (images.shape[0], images.shape[-1])
    return batch, height, width, channels


def _like_image(grads: Spec, original_image: Spec, **attrs: Any) -> Dims:
    return original_image.shape


def _check(images: Any, size: tuple[int, ...]) -> None:
    if len(images.shape) != 4:
        raise InvalidArgumentError(f"input must be 4-dimensional{bracketed(images.shape)}")
    if min(size) <= 0:
        raise InvalidArgumentError("output dimensions must be positive")
    if 0 in images.shape[1:3]:
        raise InvalidArgumentError("input image must be of non-zero size")


def _as_floats(images: Spec, size: Any, **attrs: Any) -> Spec:
    _check(images, size)
    return Spec(_resized(images, size) or (), float32)


@op("T -> float32", T=REALS, host={"size": as_ints}, partly=_resized)
def ResizeBilinear(xp: Any, images: Any, size: tuple[int, ...], half_pixel_centers: bool) -> Any:
    _check(images, size)
    pixels = images.astype(xp.float32)
    for axis in (2, 1):  # in TensorFlow's order, which affects the last bit
        taps = interpolation.linear(xp, images.shape[axis], size[axis - 1], half_pixel_centers)
        shape = [1, 1, 1, 1]
        shape[axis] = -1
        lower, upper = (xp.take(pixels, indices, axis) for indices in taps.indices.T)
        pixels = lower + (upper - lower) * taps.weights[:, 1].reshape(shape)
    return pixels


ResizeBilinear.infer(_as_floats)


@ResizeBilinear.gradient
def _(call: Call, grad: Tensor) -> Gradients:
    return [ResizeBilinearGrad(grad, call.inputs[0], half_pixel_centers=call.attrs["half_pixel_centers"])]


@op("float32 T -> T", T=FLOATS, partly=_like_image)
def ResizeBilinearGrad(xp: Any, grads: Any, original_image: Any, half_pixel_centers: bool) -> Any:
    return _spread(xp, grads, original_image, _by(interpolation.linear, half_pixel_centers))


def _by(taps_of: Callable[..., interpolation.Taps], half: bool) -> Callable[..., interpolation.Taps]:
    """Returns a function that weights neighbours the same way along rows and columns."""

    def by(xp: Any, length: int, new_length: int, axis: int) -> interpolation.Taps:
        return taps_of(xp, length, new_length, half)

    return by


def _spread(xp: Any, grads: Any, image: Any, taps_of: Any) -> Any:
    """Returns the gradient of resized images."""
    for axis in (1, 2):
        length = image.shape[axis]
        grads = interpolation.spread(xp, grads, axis, taps_of(xp, length, grads.shape[axis], axis - 1), length)
    return grads.astype(image.dtype)


@op("T -> T", T=REALS, host={"size": as_ints}, partly=_resized)
def ResizeNearestNeighbor(xp: Any, images: Any, size: tuple[int, ...], half_pixel_centers: bool) -> Any:
    _check(images, size)
    rows = interpolation.nearest(xp, images.shape[1], size[0], half_pixel_centers)
    columns = interpolation.nearest(xp, images.shape[2], size[1], half_pixel_centers)
    return xp.take(xp.take(images, rows, 1), columns, 2)


@ResizeNearestNeighbor.infer
def _(images: Spec, size: Any, **attrs: Any) -> Spec:
    _check(images, size)
    return Spec(_resized(images, size) or (), images.dtype)


@ResizeNearestNeighbor.gradient
def _(call: Call, grad: Tensor) -> Gradients:
    size = shape_of(call.inputs[0])[1:3]
    return [ResizeNearestNeighborGrad(grad, size=size, half_pixel_centers=call.attrs["half_pixel_centers"])]


@op("T -> T", T=REALS, host={"size": as_ints}, partly=_resized)
def ResizeNearestNeighborGrad(xp: Any, grads: Any, size: tuple[int, ...], half_pixel_centers: bool) -> Any:
    for axis in (1, 2):
        length = size[axis - 1]
        numbers = interpolation.nearest(xp, length, grads.shape[axis], half_pixel_centers)
        taps = interpolation.Taps(numbers[:, None], xp.ones((len(numbers), 1), grads.dtype))
        grads = interpolation.spread(xp, grads, axis, taps, length)
    return grads


@ResizeNearestNeighborGrad.infer
def _(grads: Spec, size: Any, **attrs: Any) -> Spec:
    return Spec(_resized(grads, size) or (), grads.dtype)


@op("T -> float32", T=REALS, host={"size": as_ints}, partly=_resized, cpu_only=True)
def ResizeBicubic(xp: Any, images: Any, size: tuple[int, ...], half_pixel_centers: bool) -> Any:
    return _mixed(xp, images, size, _by(interpolation.cubic, half_pixel_centers))


def _mixed(xp: Any, images: Any, size: tuple[int, ...], taps_of: Any) -> Any:
    _check(images, size)
    pixels = images.astype(xp.float32)
    for axis in (1, 2):
        pixels = interpolation.mixed(xp, pixels, axis, taps_of(xp, images.shape[axis], size[axis - 1], axis - 1))
    return pixels


ResizeBicubic.infer(_as_floats)


@ResizeBicubic.gradient
def _(call: Call, grad: Tensor) -> Gradients:
    if call.inputs[0].dtype not in (float32, float64):
        return [None]
    return [ResizeBicubicGrad(grad, call.inputs[0], half_pixel_centers=call.attrs["half_pixel_centers"])]


@op(
    "float32 T -> T",
    T=frozenset({float32, float64}),
    partly=_like_image,
    cpu_only=True,
)
def ResizeBicubicGrad(xp: Any, grads: Any, original_image: Any, half_pixel_centers: bool) -> Any:
    return _spread(xp, grads, original_image, _by(interpolation.cubic, half_pixel_centers))


@ResizeBilinearGrad.infer
@ResizeBicubicGrad.infer
def _(grads: Spec, original_image: Spec, **attrs: Any) -> Spec:
    return original_image


@op("T -> float32", T=REALS, host={"size": as_ints}, partly=_resized, cpu_only=True)
def ResizeArea(xp: Any, images: Any, size: tuple[int, ...], align_corners: bool) -> Any:
    return _mixed(xp, images, size, interpolation.area)


ResizeArea.infer(_as_floats)


def _as_pair(value: Any) -> tuple[float, ...]:
    """Returns two numbers from a list or a tensor."""
    plain = value.numpy() if isinstance(value, Tensor) else value
    return tuple([float(number) for number in plain])


_PLACED = {"host": {"scale": _as_pair, "translation": _as_pair}, "asked": {"scale": float32, "translation": float32}}


@op(
    "T -> float32",
    T=REALS,
    host={"size": as_ints, **_PLACED["host"]},
    asked=_PLACED["asked"],
    partly=_resized,
    cpu_only=True,
)
def ScaleAndTranslate(
    xp: Any, images: Any, size: tuple[int, ...], scale: Any, translation: Any, kernel_type: str, antialias: bool
) -> Any:
    return _mixed(xp, images, size, _placed(scale, translation, kernel_type, antialias))


def _placed(scale: Any, translation: Any, kernel_type: str, antialias: bool) -> Callable[..., interpolation.Taps]:
    if kernel_type not in interpolation.KERNELS:
        raise InvalidArgumentError(f"Unrecognized kernel type: {kernel_type}")
    placing = interpolation.Placing(scale, translation, kernel_type, antialias)

    def by(xp: Any, length: int, new_length: int, axis: int) -> interpolation.Taps:
        return interpolation.spans(xp, length, new_length, placing, axis)

    return by


ScaleAndTranslate.infer(_as_floats)


@ScaleAndTranslate.gradient
def _(call: Call, grad: Tensor) -> Gradients:
    if call.inputs[0].dtype is not float32:
        return [None]
    attrs = {name: value for name, value in call.attrs.items() if name != "size"}
    return [ScaleAndTranslateGrad(grad, call.inputs[0], **attrs)]


@op("T T -> T", T=frozenset({float32}), partly=_like_image, cpu_only=True, **_PLACED)
def ScaleAndTranslateGrad(
    xp: Any, grads: Any, original_image: Any, scale: Any, translation: Any, kernel_type: str, antialias: bool
) -> Any:
    return _spread(xp, grads, original_image, _placed(scale, translation, kernel_type, antialias))


@ScaleAndTranslateGrad.infer
def _(grads: Spec, original_image: Spec, **attrs: Any) -> Spec:
    return original_image


unregistered(
    ResizeArea, ResizeBilinearGrad, ResizeNearestNeighborGrad, ResizeBicubicGrad, ScaleAndTranslateGrad
)  # as in TensorFlow


class ResizeMethod:
    """The interpolation methods of `tf.image.resize`.

    >>> tf.image.ResizeMethod.BILINEAR
    'bilinear'
    """

    BILINEAR = "bilinear"
    NEAREST_NEIGHBOR = "nearest"
    BICUBIC = "bicubic"
    AREA = "area"
    LANCZOS3 = "lanczos3"
    LANCZOS5 = "lanczos5"
    GAUSSIAN = "gaussian"
    MITCHELLCUBIC = "mitchellcubic"


_BY_KERNEL = {name: name for name in ("lanczos3", "lanczos5", "gaussian", "mitchellcubic")}
_WITH_ANTIALIAS = {"bilinear": "triangle", "bicubic": "keyscubic"}


def resize(
    images: TensorLike,
    size: Any,
    method: str = ResizeMethod.BILINEAR,
    preserve_aspect_ratio: bool = False,
    antialias: bool = False,
    name: str | None = None,
) -> Tensor:
    """Returns images resized to another size.

    Gradients flow through all methods except `"area"`, as in TensorFlow.

    Args:
      images: images, shape `[batch, height, width, channels]` or `[height, width, channels]`.
      size: the new height and width, two positive integers.
      method: one of `tf.image.ResizeMethod`; `"bilinear"` by default.
      preserve_aspect_ratio: whether to keep the proportions, with `size` as the maximum; False by default.
      antialias: whether to apply a filter when downscaling; False by default.
      name: accepted and ignored.

    Returns:
      The images as float32; with `"nearest"`, in their own dtype.

    Raises:
      ValueError: if `images` does not have 3 or 4 axes, `size` is not two integers, or the method is unknown.
      InvalidArgumentError: if a length is zero.

    >>> image = tf.reshape(tf.range(16.0), [4, 4, 1])
    >>> tf.image.resize(image, [2, 2]).numpy().reshape(2, 2)
    array([[ 2.5,  4.5],
           [10.5, 12.5]], dtype=float32)
    """
    pictures = as_tensor(images)
    rank = pictures.shape.rank
    if rank not in (3, 4):
        raise ValueError(
            "'images' contains no shape." if rank is None else "'images' must have either 3 or 4 dimensions."
        )
    if rank == 3:
        return squeeze(resize(expand_dims(pictures, 0), size, method, preserve_aspect_ratio, antialias), [0])
    lengths = _size(size)
    if preserve_aspect_ratio:
        lengths = _fitting(pictures, lengths)
    if method == "nearest":
        return ResizeNearestNeighbor(pictures, size=lengths, half_pixel_centers=True, name=name)
    kernel = _BY_KERNEL.get(method) or (_WITH_ANTIALIAS.get(method) if antialias else None)
    if kernel is not None:
        lengths_before = cast(shape_of(pictures)[1:3], float32)
        return ScaleAndTranslate(
            pictures,
            size=lengths,
            scale=cast(as_tensor(lengths, int32), float32) / lengths_before,
            translation=[0.0, 0.0],
            kernel_type=kernel,
            antialias=antialias,
            name=name,
        )
    if method == "bilinear":
        return ResizeBilinear(pictures, size=lengths, half_pixel_centers=True, name=name)
    if method == "bicubic":
        return ResizeBicubic(pictures, size=lengths, half_pixel_centers=True, name=name)
    if method == "area":
        return ResizeArea(pictures, size=lengths, align_corners=False, name=name)
    raise ValueError(f"Resize method is not implemented: {method}")


def _size(size: Any) -> Any:
    """Returns a size as a list of two integers, or as a tensor if its value is known only when the function runs."""
    try:
        tensor = as_tensor(size, int32)
    except (TypeError, ValueError):
        raise ValueError("'size' must be a 1-D int32 Tensor") from None
    if not tensor.shape.is_compatible_with([2]):
        raise ValueError("'size' must be a 1-D Tensor of 2 elements: new_height, new_width")
    if hasattr(tensor, "static_value"):
        return tensor
    lengths = tensor.numpy().tolist()
    if min(lengths) < 0:
        raise ValueError(f"Dimension {min(lengths)} must be >= 0")
    return lengths


def _fitting(images: Tensor, size: Any) -> Any:
    """Returns the largest size within `size` that has the proportions of the images."""
    lengths_before = cast(shape_of(images)[1:3], float32)
    scales = cast(as_tensor(size, int32), float32) / lengths_before
    fitting = cast(rounded(minimum(scales[0], scales[1]) * lengths_before), int32)
    return fitting if hasattr(fitting, "static_value") else fitting.numpy().tolist()
