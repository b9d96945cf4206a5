"""How a window moves over volumes, which have depth, height and width: a window along depth, and one over planes.

The planes of a batch of volumes are images, so the kernels of images compute each plane.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from nbtf._ops.nn.windows import Steps, Window, length_after, spatial, steps
from nbtf._ops.specs import bracketed
from nbtf.errors import InvalidArgumentError, UnimplementedError

Triple = tuple[Any, Any, Any]


class Volume(NamedTuple):
    """A window over volumes. The window along depth is one over images whose width is 1."""

    depth: Window
    plane: Window

    @property
    def first(self) -> bool:
        """Whether channels come before depth, height and width."""
        return self.plane.first

    @property
    def windows(self) -> tuple[Window, Window, Window]:
        """The windows of depth, height and width, whose own axis is `AXES`."""
        return self.depth, self.plane, self.plane


AXES = 0, 0, 1
"""The axis of each window in `Volume.windows`."""


def volume(size: Any, strides: Any, padding: Any, data_format: Any, dilations: Any = None) -> Volume:
    """Returns a window over volumes.

    Raises:
      ValueError: if strides or dilations are not 1, 3 or 5 numbers.
      InvalidArgumentError: if a padding or data format is unknown, or a stride is below 1.
    """
    first = channels_first(data_format)
    if not isinstance(padding, str):
        raise TypeError(f"Expected string for argument 'padding' not {padding}.")
    if padding not in ("SAME", "VALID"):
        allowed = '"SAME", "VALID"'
        text = f"Value for attr 'padding' of \"{padding}\" is not in the list of allowed values: {allowed}"
        raise InvalidArgumentError(text)
    strides = _over_one_volume(strides, "strides", first)
    if min(strides) <= 0:
        raise InvalidArgumentError("Spatial strides should be larger than 0.")
    dilations = (1, 1, 1) if dilations is None else spatial(dilations, 3, "dilations", first)
    if min(dilations) <= 0:
        raise InvalidArgumentError("Dilated rates should be larger than 0.")
    depth = Window((size[0], 1), (strides[0], 1), (dilations[0], 1), padding, first)
    return Volume(depth, Window(tuple(size[1:]), strides[1:], dilations[1:], padding, first))


def _over_one_volume(strides: Any, name: str, first: bool) -> Triple:
    if hasattr(strides, "__len__") and len(strides) == 5:
        if strides[0] != 1 or strides[1 if first else 4] != 1:
            text = "Current implementation does not yet support strides in the batch and depth dimensions."
            raise InvalidArgumentError(text)
    depth, height, width = spatial(strides, 3, name, first)
    return depth, height, width


def pool_volume(ksize: Any, strides: Any, padding: Any, data_format: Any) -> Volume:
    """Returns the window of a pooling.

    Raises:
      ValueError: if `ksize` or `strides` are not 1, 3 or 5 numbers.
      InvalidArgumentError: if a size or stride is not positive, or a padding or data format is unknown.
      UnimplementedError: if the window covers several volumes or channels.
    """
    first = channels_first(data_format)
    if hasattr(ksize, "__len__") and len(ksize) == 5:
        for size, axis_name in ((ksize[1 if first else 4], "depth"), (ksize[0], "batch")):
            if size != 1:
                raise UnimplementedError(f"Pooling is not yet supported on the {axis_name} dimension.")
    sizes = spatial(ksize, 3, "ksize", first)
    if min(sizes) <= 0:
        raise InvalidArgumentError("Sliding window ksize field must have non-negative dimensions")
    if min(spatial(strides, 3, "strides", first)) <= 0:
        raise InvalidArgumentError(f"Stride must be > 0, but got {min(spatial(strides, 3, 'strides', first))}")
    return volume(sizes, strides, padding, data_format)


def channels_first(data_format: Any) -> bool:
    """Returns whether channels come before depth, height and width; None means NDHWC.

    Raises:
      InvalidArgumentError: if `data_format` is neither NDHWC nor NCDHW.
    """
    if data_format in (None, "NDHWC"):
        return False
    if data_format == "NCDHW":
        return True
    allowed = '"NDHWC", "NCDHW"'
    text = f"Value for attr 'data_format' of \"{data_format}\" is not in the list of allowed values: {allowed}"
    raise InvalidArgumentError(text)


def check_rank(subject: str, shape: tuple[int | None, ...]) -> None:
    """Raises an error unless a shape is that of a batch of volumes.

    Raises:
      InvalidArgumentError: if `shape` does not have five axes.
    """
    if len(shape) != 5:
        raise InvalidArgumentError(f"{subject} must be 5-dimensional")


def volume_shape(shape: tuple[Any, ...], first: bool) -> tuple[Any, Triple, Any]:
    """Returns a shape's batch, its lengths (depth, height and width) and its channels."""
    if len(shape) != 5:
        raise InvalidArgumentError(f"volumes have five axes, but the shape is {bracketed(shape)}")
    depth, height, width = shape[2:] if first else shape[1:4]
    return shape[0], (depth, height, width), shape[1] if first else shape[4]


def shaped(batch: Any, lengths: Triple, channels: Any, first: bool) -> tuple[Any, ...]:
    """Returns the shape with these lengths, in the order of the data format."""
    return (batch, channels, *lengths) if first else (batch, *lengths, channels)


def lengths_after(lengths: Triple, v: Volume) -> Triple:
    """Returns the number of the window's positions along each axis; None where a length is unknown."""
    depth, height, width = map(length_after, lengths, AXES, v.windows)
    return depth, height, width


def steps_of(lengths: Triple, v: Volume) -> tuple[Steps, Steps, Steps]:
    """Returns the window's positions along depth, height and width."""
    depth, rows, columns = map(steps, lengths, AXES, v.windows)
    return depth, rows, columns


# For kernels, where volumes are NDHWC


def channels_last(xp: Any, array: Any, v: Volume) -> Any:
    """Returns volumes with channels last."""
    return xp.transpose(array, (0, 2, 3, 4, 1)) if v.first else array


def as_given(xp: Any, array: Any, v: Volume) -> Any:
    """Returns NDHWC volumes with their axes in the caller's order."""
    return xp.ascontiguousarray(xp.transpose(array, (0, 4, 1, 2, 3))) if v.first else array


def padded(xp: Any, volumes: Any, around: tuple[Steps, ...], fill: Any = 0) -> Any:
    """Returns volumes padded with `fill` along their first axes after the batch, one for each element of `around`."""
    if not any(step.front or step.back for step in around):
        return volumes
    shape = list(volumes.shape)
    middle = [slice(None)]
    for axis, step in enumerate(around, 1):
        middle.append(slice(step.front, step.front + shape[axis]))
        shape[axis] += step.front + step.back
    wide = xp.empty(tuple(shape), volumes.dtype)
    wide[...] = fill
    wide[tuple(middle)] = volumes
    return wide


def cropped(wide: Any, around: tuple[Steps, ...]) -> Any:
    """Returns volumes without the padding that `padded` added."""
    inner = [slice(step.front, wide.shape[axis] - step.back) for axis, step in enumerate(around, 1)]
    return wide[(slice(None), *inner)]


def layers(wide: Any, v: Volume, windows: int) -> Iterator[Any]:
    """Yields, for each window element along depth, a view of the planes under it: [N, windows, height, width, C]."""
    (size, _), (stride, _), (dilation, _) = v.depth[:3]
    for k in range(size):
        start = k * dilation
        yield wide[:, start : start + windows * stride : stride][:, :windows]


def as_images(volumes: Any) -> Any:
    """Returns the planes of volumes as a batch of images."""
    shape = volumes.shape
    return volumes.reshape(shape[0] * shape[1], *shape[2:])
