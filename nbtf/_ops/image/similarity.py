"""How alike are two images? ssim, the index of structural similarity, and ssim_multiscale."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nbtf._ops.arrays.broadcasting import reshape
from nbtf._ops.arrays.identity import identity
from nbtf._ops.arrays.joining import stack
from nbtf._ops.arrays.padding import pad, tile
from nbtf._ops.arrays.ranges import range as number_range
from nbtf._ops.arrays.shapes import lengths_of
from nbtf._ops.debugging.values import Assert
from nbtf._ops.image.values import convert_image_dtype
from nbtf._ops.math.arithmetic import add, cast, multiply, subtract
from nbtf._ops.math.comparison import greater_equal
from nbtf._ops.math.division import divide, floormod
from nbtf._ops.math.exponentials import pow
from nbtf._ops.math.magnitude import square
from nbtf._ops.nn.activations import relu
from nbtf._ops.nn.depthwise_convolution import depthwise_conv2d
from nbtf._ops.nn.pooling import avg_pool2d
from nbtf._ops.nn.softmax import softmax
from nbtf._ops.reductions.means_and_extremes import reduce_mean, reduce_prod
from nbtf._ops.reductions.truth import reduce_all
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.tensor import Tensor
from nbtf._types import TensorLike, float32, int32
from nbtf.errors import InvalidArgumentError

WEIGHTS = (0.0448, 0.2856, 0.3001, 0.2363, 0.1333)
"""The exponent of each scale. Source: Z. Wang, E. P. Simoncelli and A. C. Bovik, "Multiscale structural similarity for
image quality assessment" (2003)."""


def ssim(
    img1: TensorLike,
    img2: TensorLike,
    max_val: Any,
    filter_size: int = 11,
    filter_sigma: float = 1.5,
    k1: float = 0.01,
    k2: float = 0.03,
    return_index_map: bool = False,
) -> Tensor:
    """Returns the structural similarity of pairs of images, at most 1.

    Args:
      img1: images, shape `[..., height, width, channels]`.
      img2: images of the same dtype and shape.
      max_val: the largest value that a pixel may have.
      filter_size: the side of the window in which pixels are compared; 11 by default.
      filter_sigma: the standard deviation of the window's weights, in pixels; 1.5 by default.
      k1: the constant that steadies the comparison of means; 0.01 by default.
      k2: the constant that steadies the comparison of variances; 0.03 by default.
      return_index_map: whether to return the similarity of each window; False by default.

    Returns:
      A float32 number for each pair, the mean of all windows and channels, or a map of the windows.

    Raises:
      ValueError: if the images have fewer than three axes, or their shapes do not fit.
      InvalidArgumentError: if the images are smaller than the window, or their dtypes differ.

    >>> image = tf.ones([16, 16, 1])
    >>> tf.image.ssim(image, image, max_val=1.0).numpy()
    np.float32(1.0)
    """
    x, y, largest = _prepared(img1, img2, max_val)
    similarity, _ = _in_windows(x, y, largest, (filter_size, filter_sigma), (k1, k2), return_index_map)
    return reduce_mean(similarity, [-1])


def ssim_multiscale(
    img1: TensorLike,
    img2: TensorLike,
    max_val: Any,
    power_factors: Sequence[float] = WEIGHTS,
    filter_size: int = 11,
    filter_sigma: float = 1.5,
    k1: float = 0.01,
    k2: float = 0.03,
) -> Tensor:
    """Returns the structural similarity of pairs of images at several scales, each half of the one before.

    Args:
      img1: images, shape `[..., height, width, channels]`.
      img2: images of the same dtype and shape.
      max_val: the largest value that a pixel may have.
      power_factors: the exponent of each scale; five scales by default.
      filter_size: the side of the window in which pixels are compared; 11 by default.
      filter_sigma: the standard deviation of the window's weights, in pixels; 1.5 by default.
      k1: the constant that steadies the comparison of means; 0.01 by default.
      k2: the constant that steadies the comparison of variances; 0.03 by default.

    Returns:
      A float32 number for each pair, the mean of all channels.

    Raises:
      ValueError: if the images have fewer than three axes, or their shapes do not fit.
      InvalidArgumentError: if the images of a scale are smaller than the window, or their dtypes differ.

    >>> image = tf.ones([16, 16, 1])
    >>> tf.image.ssim_multiscale(image, image, max_val=1.0, power_factors=(0.5, 0.5), filter_size=5).numpy()
    np.float32(1.0)
    """
    x, y, largest = _prepared(img1, img2, max_val)
    factors = list[Tensor]()
    for scale in range(len(power_factors)):
        if scale:
            x, y = _halved(x), _halved(y)
        similarity, structure = _in_windows(x, y, largest, (filter_size, filter_sigma), (k1, k2), False)
        factors.append(relu(structure if scale < len(power_factors) - 1 else similarity))
    powers = pow(stack(factors, -1), as_tensor(list(power_factors), float32))
    return reduce_mean(reduce_prod(powers, [-1]), [-1])


def _prepared(img1: TensorLike, img2: TensorLike, max_val: Any) -> tuple[Tensor, Tensor, Tensor]:
    """Returns both images and the largest value as float32, after checking that the images fit each other."""
    x, y = as_tensor(img1), as_tensor(img2)
    shapes = [image.shape.with_rank_at_least(3) for image in (x, y)]
    shapes[0][-3:].assert_is_compatible_with(shapes[1][-3:])
    fronts = [[] if shape.rank is None else shape.as_list()[-4::-1] for shape in shapes]
    if any([None not in pair and 1 not in pair and pair[0] != pair[1] for pair in zip(*fronts, strict=False)]):
        raise ValueError(f"Two images are not compatible: {shapes[0]} and {shapes[1]}")
    if x.dtype is not y.dtype:
        expected, actual = x.dtype.c_name, y.dtype.c_name
        text = f"cannot compute ShapeN as input #1(zero-based) was expected to be a {expected} tensor but is a {actual}"
        raise InvalidArgumentError(f"{text} tensor [Op:ShapeN] name: ")
    largest = convert_image_dtype(cast(max_val, x.dtype), float32)
    return convert_image_dtype(identity(x), float32), convert_image_dtype(y, float32), largest


def _in_windows(
    x: Tensor, y: Tensor, largest: Tensor, window: tuple[int, float], steady: tuple[float, float], is_map: bool
) -> tuple[Tensor, Tensor]:
    """Returns the similarity, and its part without the comparison of means, of each image and channel."""
    size, sigma = window
    for image in (x, y):
        lengths = lengths_of(image)
        Assert(reduce_all(greater_equal(as_tensor(lengths[-3:-1], int32), size)), [lengths, size], summarize=8)
    kernel = tile(_window(size, sigma), [1, 1, lengths_of(x)[-1], 1])
    first, second = [square(multiply(constant, largest)) for constant in steady]
    mean_x, mean_y = _weighted(x, kernel), _weighted(y, kernel)
    product = multiply(multiply(mean_x, mean_y), 2.0)
    squares = add(square(mean_x), square(mean_y))
    luminance = divide(add(product, first), add(squares, first))
    products = multiply(_weighted(multiply(x, y), kernel), 2.0)
    all_squares = _weighted(add(square(x), square(y)), kernel)
    structure = divide(add(subtract(products, product), second), add(subtract(all_squares, squares), second))
    similarity = multiply(luminance, structure)
    return similarity if is_map else reduce_mean(similarity, [-3, -2]), reduce_mean(structure, [-3, -2])


def _window(size: int, sigma: float) -> Tensor:
    """Returns the weights of a window, from a normal distribution."""
    offsets = subtract(cast(number_range(size), float32), (size - 1) / 2.0)
    exponents = multiply(square(offsets), -0.5 / sigma**2)
    exponents = add(reshape(exponents, [1, -1]), reshape(exponents, [-1, 1]))
    return reshape(softmax(reshape(exponents, [1, -1])), [size, size, 1, 1])


def _weighted(x: Tensor, kernel: Tensor) -> Tensor:
    """Returns the weighted mean of each window."""
    lengths = lengths_of(x)
    means = depthwise_conv2d(reshape(x, [-1, *lengths[-3:]]), kernel, [1, 1, 1, 1], "VALID")
    return reshape(means, [*lengths[:-3], *lengths_of(means)[1:]])


def _halved(x: Tensor) -> Tensor:
    """Returns images of half the height and width; an odd row or column is repeated."""
    lengths = lengths_of(x)
    flat = reshape(x, [-1, *lengths[-3:]])
    remainders = [floormod(length, 2) if isinstance(length, Tensor) else length % 2 for length in lengths[-3:-1]]
    if any([isinstance(remainder, Tensor) or remainder for remainder in remainders]):
        flat = pad(flat, [[0, 0], [0, remainders[0]], [0, remainders[1]], [0, 0]], "SYMMETRIC")
    means = avg_pool2d(flat, [1, 2, 2, 1], [1, 2, 2, 1], "VALID")
    return reshape(means, [*lengths[:-3], *lengths_of(means)[1:]])
