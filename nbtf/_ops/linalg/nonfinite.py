"""What decompositions answer for infinities and nan: LAPACK's iterations may never end on them, and are not asked."""

from __future__ import annotations

from typing import Any

from nbtf.errors import InvalidArgumentError


def zero_nonfinite(xp: Any, matrices: Any) -> tuple[Any, Any]:
    """Returns the matrices with zeros for those that are not finite, and which these are; None for none."""
    finite = xp.isfinite(matrices).all(axis=(-2, -1))
    if bool(finite.all()):
        return matrices, None
    return xp.where(finite[..., None, None], matrices, matrices.dtype.type(0)), ~finite


def fill_nan(xp: Any, results: Any, chosen: Any) -> Any:
    """Returns the results with nan for the chosen matrices of a stack."""
    mask = chosen.reshape(chosen.shape + (1,) * (results.ndim - chosen.ndim))
    return xp.where(mask, results.dtype.type(float("nan")), results)


def check_spectrum(xp: Any, triangles: Any, nonfinite: Any) -> None:
    """Raises TensorFlow's error for triangles whose eigenvalues its iteration does not reach.

    It reaches those, all nan, of a matrix that is infinite only where the first steps leave it alone: at the diagonal's
    first element, or anywhere on the diagonal of two rows. Source: `SelfAdjointEigenSolver` of Eigen 3.4, which
    divides by the largest element first.
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
    """Returns the factors of QR with nan behind the first reflection of infinite length, as in TensorFlow.

    Such a reflection has no direction, so all that it turns is nan; LAPACK leaves parts of it as they were.
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
