"""Fourier transforms along the last one, two or three axes, of complex and of real numbers."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

from nbtf._devices.base import Spec
from nbtf._ops.arrays.creation import convert_to_tensor
from nbtf._ops.arrays.joining import concat
from nbtf._ops.arrays.padding import pad
from nbtf._ops.arrays.shapes import shape as shape_of
from nbtf._ops.arrays.slicing import slice
from nbtf._ops.attributes import as_ints
from nbtf._ops.math.arithmetic import multiply
from nbtf._ops.math.complex_numbers import real
from nbtf._ops.math.magnitude import maximum
from nbtf._ops.op import Gradients, Op, op, unregistered
from nbtf._ops.specs import Dims, bracketed, like_first
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.tape import Call
from nbtf._runtime.tensor import Tensor
from nbtf._types import COMPLEXES, DType, TensorLike, as_dtype, complex64, complex128, float32, float64
from nbtf.errors import InvalidArgumentError

_REALS = frozenset({float32, float64})
_COMPLEX_OF = {float32: complex64, float64: complex128}


def _check_rank(input: Spec, rank: int) -> None:
    if len(input.shape) < rank:
        raise InvalidArgumentError(f"Input must have rank of at least {rank} but got: {len(input.shape)}")


# Complex numbers


def _complex_op(type: str, function: str, rank: int) -> Op:
    """Returns the op of a NumPy function that transforms the last axes of complex numbers."""

    def kernel(xp: Any, input: Any) -> Any:
        if not input.size:
            return input.copy()
        return getattr(xp.fft, function)(input, axes=tuple(range(-rank, 0))).astype(input.dtype, copy=False)

    def infer(input: Spec) -> Spec:
        _check_rank(input, rank)
        return input

    kernel.__name__ = type
    return op("Tcomplex -> Tcomplex", Tcomplex=COMPLEXES, infer=infer, partly=like_first)(kernel)


FFT = _complex_op("FFT", "fftn", 1)
IFFT = _complex_op("IFFT", "ifftn", 1)
FFT2D = _complex_op("FFT2D", "fftn", 2)
IFFT2D = _complex_op("IFFT2D", "ifftn", 2)
FFT3D = _complex_op("FFT3D", "fftn", 3)
IFFT3D = _complex_op("IFFT3D", "ifftn", 3)
_PAIRS = {1: (FFT, IFFT), 2: (FFT2D, IFFT2D), 3: (FFT3D, IFFT3D)}


def _of_complex_op(rank: int, inverse: bool) -> Callable[[Call, Tensor], Gradients]:
    """Returns the gradient of a transform: the other transform, whose factor is the other way round."""
    opposite = _PAIRS[rank][not inverse]

    def gradient(call: Call, grad: Tensor) -> Gradients:
        count = prod(call.inputs[0].shape.as_list()[-rank:])
        return [multiply(opposite(grad), 1 / count if inverse else float(count))]

    return gradient


for _rank, (_forward, _backward) in _PAIRS.items():
    _forward.gradient_keeping("inputs")(_of_complex_op(_rank, False))
    _backward.gradient_keeping("inputs")(_of_complex_op(_rank, True))


def fft(input: TensorLike, name: str | None = None) -> Tensor:
    """Returns the discrete Fourier transform along the last axis.

    Args:
      input: complex numbers, shape `[..., n]`.

    Returns:
      Complex numbers of the same shape and dtype; element k is the sum of `input[j] * exp(-2i * pi * j * k / n)`.

    Raises:
      InvalidArgumentError: if `input` is not complex, or a scalar.

    >>> tf.signal.fft(tf.constant([1, 0, 0, 0], tf.complex64)).numpy()
    array([1.+0.j, 1.+0.j, 1.+0.j, 1.+0.j], dtype=complex64)
    """
    return FFT(input, name=name)


def ifft(input: TensorLike, name: str | None = None) -> Tensor:
    """Returns the inverse of `fft`, which divides by the number of elements.

    Args:
      input: complex numbers, shape `[..., n]`.

    Returns:
      Complex numbers of the same shape and dtype.

    Raises:
      InvalidArgumentError: if `input` is not complex, or a scalar.

    >>> tf.signal.ifft(tf.constant([1, 1, 1, 1], tf.complex64)).numpy()
    array([1.+0.j, 0.+0.j, 0.+0.j, 0.+0.j], dtype=complex64)
    """
    return IFFT(input, name=name)


def fft2d(input: TensorLike, name: str | None = None) -> Tensor:
    """Returns the discrete Fourier transform along the last two axes.

    Args:
      input: complex numbers, shape `[..., m, n]`.

    Returns:
      Complex numbers of the same shape and dtype.

    Raises:
      InvalidArgumentError: if `input` is not complex, or has fewer than two axes.

    >>> tf.signal.fft2d(tf.constant([[1, 0], [0, 0]], tf.complex64)).numpy().real
    array([[1., 1.],
           [1., 1.]], dtype=float32)
    """
    return FFT2D(input, name=name)


def ifft2d(input: TensorLike, name: str | None = None) -> Tensor:
    """Returns the inverse of `fft2d`, which divides by the number of elements.

    Args:
      input: complex numbers, shape `[..., m, n]`.

    Returns:
      Complex numbers of the same shape and dtype.

    Raises:
      InvalidArgumentError: if `input` is not complex, or has fewer than two axes.

    >>> tf.signal.ifft2d(tf.constant([[1, 1], [1, 1]], tf.complex64)).numpy().real
    array([[1., 0.],
           [0., 0.]], dtype=float32)
    """
    return IFFT2D(input, name=name)


def fft3d(input: TensorLike, name: str | None = None) -> Tensor:
    """Returns the discrete Fourier transform along the last three axes.

    Args:
      input: complex numbers, shape `[..., l, m, n]`.

    Returns:
      Complex numbers of the same shape and dtype.

    Raises:
      InvalidArgumentError: if `input` is not complex, or has fewer than three axes.

    >>> tf.signal.fft3d(tf.ones([2, 2, 2], tf.complex64)).numpy().real.ravel()
    array([8., 0., 0., 0., 0., 0., 0., 0.], dtype=float32)
    """
    return FFT3D(input, name=name)


def ifft3d(input: TensorLike, name: str | None = None) -> Tensor:
    """Returns the inverse of `fft3d`, which divides by the number of elements.

    Args:
      input: complex numbers, shape `[..., l, m, n]`.

    Returns:
      Complex numbers of the same shape and dtype.

    Raises:
      InvalidArgumentError: if `input` is not complex, or has fewer than three axes.

    >>> tf.signal.ifft3d(tf.ones([2, 2, 2], tf.complex64)).numpy().real.ravel()
    array([1., 0., 0., 0., 0., 0., 0., 0.], dtype=float32)
    """
    return IFFT3D(input, name=name)


# Real numbers: half of the transform, since the other half is its conjugate


def _check_lengths(input: Spec, fft_length: tuple[int, ...], rank: int) -> None:
    _check_rank(input, rank)
    if len(fft_length) != rank:
        raise InvalidArgumentError(f"fft_length must have shape [{rank}]")
    if min(fft_length) < 0:
        raise InvalidArgumentError(f"fft_length must be non-negative, got: {bracketed(fft_length)}")


def _half_op(type: str, rank: int) -> Op:
    """Returns the op from real numbers to the first half of their transform.

    An input that is shorter than the transform counts as followed by zeros; of a longer one, only the front counts.
    """

    def kernel(xp: Any, input: Any, fft_length: tuple[int, ...], Tcomplex: DType) -> Any:  # noqa: N803
        if not input.size or 0 in fft_length:
            lengths = (*input.shape[:-rank], *fft_length[:-1], fft_length[-1] // 2 + 1)
            return xp.zeros(lengths, Tcomplex.np_dtype)
        half = xp.fft.rfftn(input, fft_length, axes=tuple(range(-rank, 0)))
        return half.astype(Tcomplex.np_dtype, copy=False)

    def infer(input: Spec, fft_length: tuple[int, ...], Tcomplex: DType) -> Spec:  # noqa: N803
        _check_lengths(input, fft_length, rank)
        return Spec((*input.shape[:-rank], *fft_length[:-1], fft_length[-1] // 2 + 1), Tcomplex)

    kernel.__name__ = type
    options: dict[str, Any] = {"host": {"fft_length": as_ints}, "plain": {"Tcomplex": as_dtype}}
    return op("Treal -> Tcomplex", Treal=_REALS, infer=infer, partly=_partly(rank), **options)(kernel)


def _whole_op(type: str, rank: int) -> Op:
    """Returns the op from the first half of a transform back to real numbers."""

    def kernel(xp: Any, input: Any, fft_length: tuple[int, ...], Treal: DType) -> Any:  # noqa: N803
        if not input.size or 0 in fft_length:
            return xp.zeros((*input.shape[:-rank], *fft_length), Treal.np_dtype)
        signal = xp.fft.irfftn(input, fft_length, axes=tuple(range(-rank, 0)))
        return signal.astype(Treal.np_dtype, copy=False)

    def infer(input: Spec, fft_length: tuple[int, ...], Treal: DType) -> Spec:  # noqa: N803
        _check_lengths(input, fft_length, rank)
        return Spec((*input.shape[:-rank], *fft_length), Treal)

    kernel.__name__ = type
    options: dict[str, Any] = {"host": {"fft_length": as_ints}, "plain": {"Treal": as_dtype}}
    return op("Tcomplex -> Treal", Tcomplex=COMPLEXES, infer=infer, partly=_partly(rank), **options)(kernel)


def _partly(rank: int) -> Callable[..., Dims]:
    """Returns the shape rule for an unknown `fft_length` or an unknown rank."""

    def lengths(input: Any, **attrs: Any) -> Dims:
        return None if input.shape is None else (*input.shape[:-rank], *(None,) * rank)

    return lengths


RFFT = _half_op("RFFT", 1)
RFFT2D = _half_op("RFFT2D", 2)
RFFT3D = _half_op("RFFT3D", 3)
IRFFT = _whole_op("IRFFT", 1)
IRFFT2D = _whole_op("IRFFT2D", 2)
IRFFT3D = _whole_op("IRFFT3D", 3)
_HALVES = {1: (RFFT, IRFFT), 2: (RFFT2D, IRFFT2D), 3: (RFFT3D, IRFFT3D)}


def _fitted(grad: Tensor, lengths: list[int]) -> Tensor:
    """Returns a gradient with the input's lengths: zeros for elements that were left out, nothing for added zeros."""
    grad_lengths: list[Any] = grad.shape.as_list()
    inside: list[int] = [
        min(length, wanted_length) for length, wanted_length in zip(grad_lengths, lengths, strict=True)
    ]
    missing = [[0, wanted_length - length] for length, wanted_length in zip(inside, lengths, strict=True)]
    return pad(slice(grad, [0] * len(inside), inside), missing)


def _of_half(rank: int) -> Callable[[Call, Tensor], Gradients]:
    _, inverse = _PAIRS[rank]

    def gradient(call: Call, grad: Tensor) -> Gradients:
        lengths = as_ints(call.attrs["fft_length"])
        input_lengths = call.inputs[0].shape.as_list()
        spectrum = _fitted(grad, [*input_lengths[:-rank], *lengths])
        return [_fitted(multiply(real(inverse(spectrum)), float(prod(lengths))), input_lengths)]

    return gradient


def _of_whole(rank: int) -> Callable[[Call, Tensor], Gradients]:
    forward, _ = _HALVES[rank]

    def gradient(call: Call, grad: Tensor) -> Gradients:
        x = call.inputs[0]
        lengths = as_ints(call.attrs["fft_length"])
        last = lengths[-1]
        unpaired = {0, last / 2}  # each other element of the half stands for two of the whole
        weights = [(1 if index in unpaired else 2) / prod(lengths) for index in range(last // 2 + 1)]
        half = forward(grad, fft_length=lengths, Tcomplex=x.dtype)
        return [_fitted(multiply(half, as_tensor(weights, x.dtype)), x.shape.as_list())]

    return gradient


for _rank, (_forward, _backward) in [*_HALVES.items()][:2]:
    _forward.gradient_keeping("inputs")(_of_half(_rank))
    _backward.gradient_keeping("inputs")(_of_whole(_rank))
unregistered(RFFT3D, IRFFT3D)


def _lengths(input: Tensor, fft_length: Any, rank: int, inverse: bool) -> Any:
    """Returns the lengths of a transform; by default those of the input."""
    if fft_length is not None:
        return fft_length
    inner: list[Any] = input.shape.as_list()[-rank:]
    if None not in inner:
        return [*inner[:-1], max(0, 2 * (inner[-1] - 1))] if inverse and inner else inner
    lengths: Any = shape_of(input)[-rank:]
    return concat([lengths[:-1], maximum(0, 2 * (lengths[-1:] - 1))], 0) if inverse else lengths


def _half_spectrum(input_tensor: TensorLike, fft_length: Any, rank: int, name: str | None) -> Tensor:
    x = convert_to_tensor(input_tensor, dtype_hint=float32)
    if x._dtype not in _REALS:
        raise ValueError(f"RFFT requires tf.float32 or tf.float64 inputs, got: {x}")
    x.shape.with_rank_at_least(rank)
    lengths = _lengths(x, fft_length, rank, False)
    return _HALVES[rank][0](x, fft_length=lengths, Tcomplex=_COMPLEX_OF[x._dtype], name=name)


def _real_signal(input_tensor: TensorLike, fft_length: Any, rank: int, name: str | None) -> Tensor:
    x = convert_to_tensor(input_tensor, dtype_hint=complex64)
    x.shape.with_rank_at_least(rank)
    if x._dtype not in COMPLEXES:
        raise ValueError(f"IRFFT requires tf.complex64 or tf.complex128 inputs, got: {x}")
    lengths = _lengths(x, fft_length, rank, True)
    return _HALVES[rank][1](x, fft_length=lengths, Treal=x._dtype.real_dtype, name=name)


def rfft(input_tensor: TensorLike, fft_length: Any = None, name: str | None = None) -> Tensor:
    """Returns half of the Fourier transform of real numbers along the last axis; the rest is its conjugate.

    Args:
      input_tensor: float32 or float64 numbers, shape `[..., n]`.
      fft_length: one length of the transform; by default those of the input.
        A longer input is cut, and a shorter one followed by zeros.

    Returns:
      complex64 or complex128 numbers, shape `[..., n // 2 + 1]`.

    Raises:
      ValueError: if the numbers have a different dtype, or the input is a scalar.
      InvalidArgumentError: if `fft_length` does not consist of one length of at least 0.

    >>> tf.signal.rfft([1.0, 0.0, 0.0, 0.0]).numpy()
    array([1.+0.j, 1.+0.j, 1.+0.j], dtype=complex64)
    """
    return _half_spectrum(input_tensor, fft_length, 1, name)


def irfft(input_tensor: TensorLike, fft_length: Any = None, name: str | None = None) -> Tensor:
    """Returns the real numbers that have a given half of a discrete Fourier transform; the inverse of `rfft`.

    Args:
      input_tensor: complex64 or complex128 numbers, shape `[..., n // 2 + 1]`.
      fft_length: one length of the result; by default those of the input, the last one `2 * (length - 1)`.

    Returns:
      float32 or float64 numbers, shape `[..., n]`.

    Raises:
      ValueError: if the numbers have a different dtype, or the input is a scalar.
      InvalidArgumentError: if `fft_length` does not consist of one length of at least 0.

    >>> tf.signal.irfft(tf.constant([1, 1, 1], tf.complex64)).numpy()
    array([1., 0., 0., 0.], dtype=float32)
    """
    return _real_signal(input_tensor, fft_length, 1, name)


def rfft2d(input_tensor: TensorLike, fft_length: Any = None, name: str | None = None) -> Tensor:
    """Returns half of the Fourier transform of real numbers along the last two axes; the rest is its conjugate.

    Args:
      input_tensor: float32 or float64 numbers, shape `[..., m, n]`.
      fft_length: two lengths of the transform; by default those of the input.
        A longer input is cut, and a shorter one followed by zeros.

    Returns:
      complex64 or complex128 numbers, shape `[..., m, n // 2 + 1]`.

    Raises:
      ValueError: if the numbers have a different dtype, or the input has fewer than two axes.
      InvalidArgumentError: if `fft_length` does not consist of two lengths of at least 0.

    >>> tf.signal.rfft2d([[1.0, 0.0], [0.0, 0.0]]).numpy().real
    array([[1., 1.],
           [1., 1.]], dtype=float32)
    """
    return _half_spectrum(input_tensor, fft_length, 2, name)


def irfft2d(input_tensor: TensorLike, fft_length: Any = None, name: str | None = None) -> Tensor:
    """Returns the real numbers that have a given half of a discrete Fourier transform; the inverse of `rfft2d`.

    Args:
      input_tensor: complex64 or complex128 numbers, shape `[..., m, n // 2 + 1]`.
      fft_length: two lengths of the result; by default those of the input, the last one `2 * (length - 1)`.

    Returns:
      float32 or float64 numbers, shape `[..., m, n]`.

    Raises:
      ValueError: if the numbers have a different dtype, or the input has fewer than two axes.
      InvalidArgumentError: if `fft_length` does not consist of two lengths of at least 0.

    >>> tf.signal.irfft2d(tf.constant([[1, 1], [1, 1]], tf.complex64)).numpy()
    array([[1., 0.],
           [0., 0.]], dtype=float32)
    """
    return _real_signal(input_tensor, fft_length, 2, name)


def rfft3d(input_tensor: TensorLike, fft_length: Any = None, name: str | None = None) -> Tensor:
    """Returns half of the Fourier transform of real numbers along the last three axes; the rest is its conjugate.

    As in TensorFlow, this op has no gradient: requesting one raises LookupError.

    Args:
      input_tensor: float32 or float64 numbers, shape `[..., l, m, n]`.
      fft_length: three lengths of the transform; by default those of the input.
        A longer input is cut, and a shorter one followed by zeros.

    Returns:
      complex64 or complex128 numbers, shape `[..., l, m, n // 2 + 1]`.

    Raises:
      ValueError: if the numbers have a different dtype, or the input has fewer than three axes.
      InvalidArgumentError: if `fft_length` does not consist of three lengths of at least 0.

    >>> tf.signal.rfft3d(tf.ones([2, 2, 4])).shape
    TensorShape([2, 2, 3])
    """
    return _half_spectrum(input_tensor, fft_length, 3, name)


def irfft3d(input_tensor: TensorLike, fft_length: Any = None, name: str | None = None) -> Tensor:
    """Returns the real numbers that have a given half of a discrete Fourier transform; the inverse of `rfft3d`.

    As in TensorFlow, this op has no gradient: requesting one raises LookupError.

    Args:
      input_tensor: complex64 or complex128 numbers, shape `[..., l, m, n // 2 + 1]`.
      fft_length: three lengths of the result; by default those of the input, the last one `2 * (length - 1)`.

    Returns:
      float32 or float64 numbers, shape `[..., l, m, n]`.

    Raises:
      ValueError: if the numbers have a different dtype, or the input has fewer than three axes.
      InvalidArgumentError: if `fft_length` does not consist of three lengths of at least 0.

    >>> tf.signal.irfft3d(tf.ones([2, 2, 3], tf.complex64)).shape
    TensorShape([2, 2, 4])
    """
    return _real_signal(input_tensor, fft_length, 3, name)
