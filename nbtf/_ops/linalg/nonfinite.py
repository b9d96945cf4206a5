"""Decompositions of matrices with infinities or nan, which LAPACK must not get: its iterations may never end."""

from __future__ import annotations

from typing import Any

from nbtf.errors import InvalidArgumentError


def zero_nonfinite(xp: Any, matrices: Any) -> tuple[Any, Any]:
    """Returns the matrices with non-finite ones replaced by zeros, and a mask of these; None if all are finite."""
    finite = xp.isfinite(matrices).all(axis=(-2, -1))
    if bool(finite.all()):
        return matrices, None
    return xp.where(finite[..., None, None], matrices, matrices.dtype.type(0)), ~finite


def fill_nan(xp: Any, results: Any, chosen: Any) -> Any:
    """Returns the results with nan for the chosen matrices of a batch."""
    mask = chosen.reshape(chosen.shape + (1,) * (results.ndim - chosen.ndim))
    return xp.where(mask, results.dtype.type(float("nan")), results)


def check_spectrum(xp: Any, triangles: Any, nonfinite: Any) -> None:
    """Raises TensorFlow's error for matrices for which its iteration finds no eigenvalues.

    It finds eigenvalues, all nan, if a matrix is infinite only where the first steps do not change it: at the
    diagonal's first element, or anywhere on the diagonal of a 2x2 matrix. Source: `SelfAdjointEigenSolver` of Eigen
    3.4, which divides by the largest element first.
    """
    size = triangles.shape[-1]
    reached = xp.zeros((size, size), bool)
    reached[0, 0] = True
    if size == 2:
        reached[1, 1] = True
    allowed = xp.isfinite(triangles) | (reached & ~xp.isnan(triangles))
    if not bool((allowed.all(axis=(-2, -1)) | ~nonfinite).all()):
        raise InvalidArgumentError("Self-adjoint eigen decomposition was not successful. The input might not be valid.")


def spread_nan(xp: Any, q: Any, r: Any, full: bool) -> tuple[Any, Any]:
    """Returns QR factors with nan after the first reflection of infinite length, as in TensorFlow.

    Such a reflection has no direction, so all elements that it changes become nan; LAPACK keeps some of them.
    """
    count = min(q.shape[-2] - 1, r.shape[-1])
    if count <= 0:
        return q, r
    lengths = r.diagonal(0, -2, -1)[..., :count]
    lost = xp.cumsum(~xp.isfinite(lengths), -1) > 0
    lost_rows = lost[..., [max(0, min(row - 1, count - 1)) for row in range(r.shape[-2])]]
    lost_rows[..., 0] = False
    columns = [min(column, count - 1) if full else count - 1 for column in range(q.shape[-1])]
    upper = xp.triu(xp.ones(r.shape[-2:], bool))
    nan = q.dtype.type(float("nan"))
    return xp.where(lost[..., columns][..., None, :], nan, q), xp.where(lost_rows[..., None] & upper, nan, r)
