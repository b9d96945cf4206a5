"""Eigenvalues and eigenvectors of square matrices that need not be symmetric."""

from __future__ import annotations

from typing import Any

from nbtf._devices.base import Spec
from nbtf._ops.arrays.creation import zeros_like
from nbtf._ops.arrays.shapes import expand_dims
from nbtf._ops.linalg.diagonals import diag, diag_part, set_diag
from nbtf._ops.linalg.nonfinite import zero_nonfinite
from nbtf._ops.linalg.products import adjoint, matmul
from nbtf._ops.linalg.solving import SOLVED, check_square, solve
from nbtf._ops.math.arithmetic import add, cast, conj, subtract
from nbtf._ops.math.complex_numbers import real
from nbtf._ops.math.division import divide_no_nan
from nbtf._ops.op import Gradients, op
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.tape import Call
from nbtf._runtime.tensor import Tensor
from nbtf._types import COMPLEXES, DType, TensorLike, as_dtype, complex64, complex128, float32
from nbtf.errors import InvalidArgumentError


def _as_complex(value: Any) -> DType:
    dtype = as_dtype(value)
    if dtype not in COMPLEXES:
        raise InvalidArgumentError(
            f"Value for attr 'Tout' of {dtype.c_name} is not in the list of allowed values: complex64, complex128"
        )
    return dtype


@op("T -> Tout Tout", T=SOLVED, plain={"Tout": _as_complex}, cpu_only=True)
def Eig(xp: Any, input: Any, compute_v: bool, Tout: DType) -> Any:  # noqa: N803  # TensorFlow's name
    if input.ndim < 2 or input.shape[-1] != input.shape[-2]:
        raise ValueError("expected square matrices")
    matrices, nonfinite = zero_nonfinite(xp, input)
    if nonfinite is not None:
        raise InvalidArgumentError("Eigen decomposition was not successful. The input might not be valid.")
    if compute_v:
        values, vectors = xp.linalg.eig(matrices)
    else:
        values, vectors = xp.linalg.eigvals(matrices), xp.empty(0)
    return values.astype(Tout.np_dtype), vectors.astype(Tout.np_dtype)


@Eig.infer
def _(input: Spec, compute_v: bool, Tout: DType) -> list[Spec]:  # noqa: N803
    check_square(input)
    return [Spec(input.shape[:-1], Tout), Spec(input.shape if compute_v else (0,), Tout)]


@Eig.gradient_keeping("inputs", "outputs")
def _(call: Call, grad_values: Tensor | None, grad_vectors: Tensor | None) -> Gradients:
    # Source: Boeddeker et al., "On the computation of complex-valued gradients with application to statistically
    # optimum beamforming", arXiv:1701.00392, equation 4.77, for vectors of length 1 and distinct eigenvalues.
    values, vectors = call.outputs if call.attrs["compute_v"] else eig(call.inputs[0])
    adjoints = adjoint(vectors)
    middle = diag(zeros_like(values) if grad_values is None else grad_values)
    if grad_vectors is not None and call.attrs["compute_v"]:
        gaps = subtract(expand_dims(values, -2), expand_dims(values, -1))
        turned = matmul(adjoints, grad_vectors)
        stretched = diag(cast(real(diag_part(turned)), values.dtype))
        turned = subtract(turned, matmul(matmul(adjoints, vectors), stretched))
        middle = add(middle, divide_no_nan(turned, conj(set_diag(gaps, zeros_like(values)))))
    return [cast(solve(adjoints, matmul(middle, adjoints)), call.inputs[0].dtype)]


def _decomposed(tensor: TensorLike, compute_v: bool, name: str | None) -> tuple[Tensor, Tensor]:
    matrices = as_tensor(tensor)
    result_dtype = complex64 if matrices.dtype in (float32, complex64) else complex128
    values, vectors = Eig(matrices, compute_v=compute_v, Tout=result_dtype, name=name)
    return values, vectors


def eig(tensor: TensorLike, name: str | None = None) -> tuple[Tensor, Tensor]:
    """Computes eigenvalues and eigenvectors of square matrices that need not be symmetric.

    The op runs on the CPU, since TensorFlow has no GPU kernel for it. Gradients require distinct eigenvalues.

    Args:
      tensor: float32, float64 or complex matrices, shape `[..., n, n]`.

    Returns:
      The eigenvalues, in no particular order, shape `[..., n]`, and matrices with the eigenvectors as columns; all are
      complex64 for float32 and complex64, otherwise complex128. The eigenvectors have length 1; their complex phase,
      which is arbitrary, may differ from TensorFlow's.

    Raises:
      InvalidArgumentError: if the matrices are not square, or a matrix is not finite.

    >>> values, vectors = tf.linalg.eig([[0.0, -1.0], [1.0, 0.0]])
    >>> values.numpy()
    array([0.+1.j, 0.-1.j], dtype=complex64)
    """
    return _decomposed(tensor, True, name)


def eigvals(tensor: TensorLike, name: str | None = None) -> Tensor:
    """Computes eigenvalues of square matrices that need not be symmetric.

    The op runs on the CPU, since TensorFlow has no GPU kernel for it. Gradients require distinct eigenvalues.

    Args:
      tensor: float32, float64 or complex matrices, shape `[..., n, n]`.

    Returns:
      The eigenvalues, in no particular order, shape `[..., n]`; complex64 for float32 and complex64, otherwise
      complex128.

    Raises:
      InvalidArgumentError: if the matrices are not square, or a matrix is not finite.

    >>> tf.linalg.eigvals([[2.0, 1.0], [0.0, 3.0]]).numpy()
    array([2.+0.j, 3.+0.j], dtype=complex64)
    """
    return _decomposed(tensor, False, name)[0]
