"""Assertions about numbers in tensors, arrays, and nested structures of them."""

from __future__ import annotations

import unittest
from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

_HALF = ("float16", "bfloat16")


class ArrayAssertions(unittest.TestCase):
    """Assertions about values that `evaluate` can turn into arrays."""

    def evaluate(self, tensors: Any) -> Any:
        """Returns the values of tensors; see `TestCase.evaluate`."""
        raise NotImplementedError

    def _array(self, value: Any) -> Array:
        """Returns a value as an array; lists may contain tensors."""
        if isinstance(value, list | tuple | range):
            items = [self._array(item) for item in value]  # pyright: ignore[reportUnknownVariableType]
            return np.asarray(items) if items else np.asarray(value)
        is_plain = value is None or isinstance(value, int | float | complex | str | bytes | np.ndarray | np.generic)
        return np.asarray(value if is_plain else self.evaluate(value))

    # Nearly equal

    def assertAllClose(self, a: Any, b: Any, rtol: float = 1e-6, atol: float = 1e-6, msg: str | None = None) -> None:
        """Fails unless two structures match in nesting and shapes, and their numbers are nearly equal.

        Args:
          a: the expected values: tensors, arrays and numbers, in lists and dictionaries.
          b: the actual values.
          rtol: relative tolerance, as a fraction of `b`.
          atol: absolute tolerance, added to the relative one.
          msg: text added to the error message; none by default.
        """
        self._check_close(a, b, rtol, atol, msg, ())

    def _check_close(self, a: Any, b: Any, rtol: float, atol: float, msg: str | None, path: tuple[Any, ...]) -> None:
        a, b = _plain(a), _plain(b)
        is_mapping = [isinstance(value, Mapping) for value in (a, b)]
        text = f"Mismatched value: a{_path(path)} is different from b{_path(path)}. {msg or ''}".strip()
        if any(is_mapping):
            self.assertTrue(all(is_mapping), text)
            self.assertCountEqual(a.keys(), b.keys(), f"Mismatched keys: {text}")
            for key in a:
                self._check_close(a[key], b[key], rtol, atol, msg, (*path, key))
        elif _is_ragged_list(a) or _is_ragged_list(b):
            self.assertEqual(len(a), len(b), f"Mismatched length: {text}")
            for number, (first, second) in enumerate(zip(a, b, strict=True)):
                self._check_close(first, second, rtol, atol, msg, (*path, number))
        else:
            self._check_arrays_close(self._array(a), self._array(b), rtol, atol, text)

    def _check_arrays_close(self, a: Array, b: Array, rtol: float, atol: float, msg: str) -> None:
        self.assertEqual(
            a.shape, b.shape, f"Shape mismatch: expected {a.shape}, got {b.shape} with contents {b}. {msg}"
        )
        if "bfloat16" in (str(a.dtype), str(b.dtype)):
            rtol, atol = max(rtol, 1e-2), max(atol, 1e-2)
            a, b = a.astype(np.float32), b.astype(np.float32)
        np.testing.assert_allclose(b, a, rtol=rtol, atol=atol, err_msg=msg)

    def assertAllCloseAccordingToType(
        self,
        a: Any,
        b: Any,
        rtol: float = 1e-6,
        atol: float = 1e-6,
        float_rtol: float = 1e-6,
        float_atol: float = 1e-6,
        half_rtol: float = 1e-3,
        half_atol: float = 1e-3,
        bfloat16_rtol: float = 1e-2,
        bfloat16_atol: float = 1e-2,
        msg: str | None = None,
    ) -> None:
        """Works as `assertAllClose`, with larger tolerances if one of the two values has fewer bits.

        Args:
          a: the expected values.
          b: the actual values.
          rtol: relative tolerance for float64.
          atol: absolute tolerance for float64.
          float_rtol: relative tolerance for float32.
          float_atol: absolute tolerance for float32.
          half_rtol: relative tolerance for float16.
          half_atol: absolute tolerance for float16.
          bfloat16_rtol: relative tolerance for bfloat16.
          bfloat16_atol: absolute tolerance for bfloat16.
          msg: text added to the error message; none by default.
        """
        first, second = self._array(a), self._array(b)
        limits = {
            "float32": (float_rtol, float_atol),
            "complex64": (float_rtol, float_atol),
            "float16": (half_rtol, half_atol),
            "bfloat16": (bfloat16_rtol, bfloat16_atol),
        }
        for dtype in (str(first.dtype), str(second.dtype)):
            relative, absolute = limits.get(dtype, (rtol, atol))
            rtol, atol = max(rtol, relative), max(atol, absolute)
        self.assertAllClose(first, second, rtol, atol, msg)

    def assertNotAllClose(self, a: Any, b: Any, rtol: float = 1e-6, atol: float = 1e-6, msg: str | None = None) -> None:
        """Fails if two structures are nearly equal; see `assertAllClose`."""
        try:
            self.assertAllClose(a, b, rtol, atol)
        except AssertionError:
            return
        raise self.failureException(f"The two values are close at all elements. {msg or ''}".strip())

    def assertNear(self, f1: float, f2: float, err: float, msg: str | None = None) -> None:
        """Fails unless two numbers differ by at most `err`."""
        near = f1 == f2 or abs(f1 - f2) <= err
        self.assertTrue(near, f"{f1!r} != {f2!r} +/- {err!r}{f' ({msg})' if msg else ''}")

    def assertArrayNear(self, farray1: Any, farray2: Any, err: float, msg: str | None = None) -> None:
        """Fails unless two lists have the same length and each pair of numbers differs by at most `err`."""
        self.assertEqual(len(farray1), len(farray2), msg)
        for first, second in zip(farray1, farray2, strict=True):
            self.assertNear(float(first), float(second), err, msg)

    def assertNDArrayNear(self, ndarray1: Any, ndarray2: Any, err: float, msg: str | None = None) -> None:
        """Fails unless the Euclidean norm of the difference of two arrays is below `err`."""
        distance = float(np.linalg.norm(self._array(ndarray1) - self._array(ndarray2)))
        self.assertLess(distance, err, msg)

    # Equal

    def assertAllEqual(self, a: Any, b: Any, msg: str | None = None) -> None:
        """Fails unless two values have the same shape and equal elements; nan equals nan.

        Args:
          a: the expected value.
          b: the actual value.
          msg: text added to the error message; none by default.
        """
        first, second = (self._array(value) for value in (a, b))
        self.assertEqual(
            first.shape,
            second.shape,
            f"Shape mismatch: expected {first.shape}, got {second.shape} with contents {second}. {msg or ''}".strip(),
        )
        if not _equal_elements(first, second).all():
            np.testing.assert_array_equal(second, first, err_msg=msg or "")
            raise self.failureException(f"{first} != {second}. {msg or ''}".strip())

    def assertNotAllEqual(self, a: Any, b: Any, msg: str | None = None) -> None:
        """Fails if two values are equal; see `assertAllEqual`."""
        try:
            self.assertAllEqual(a, b)
        except AssertionError:
            return
        raise self.failureException(f"The two values are equal at all elements. {msg or ''}".strip())

    def assertShapeEqual(self, input_a: Any, input_b: Any, msg: str | None = None) -> None:
        """Fails unless two tensors or arrays have the same shape."""
        first, second = (tuple(value.shape) for value in (input_a, input_b))
        self.assertEqual(first, second, msg)

    def assertDTypeEqual(self, target: Any, expected_dtype: Any) -> None:
        """Fails unless a tensor or array has the given NumPy dtype."""
        dtype = getattr(expected_dtype, "as_numpy_dtype", expected_dtype)
        self.assertEqual(np.dtype(dtype), self._array(target).dtype)

    # All elements

    def _check_all(self, value: Any, holds: Callable[[Array], Any], text: str) -> None:
        array = self._array(value)
        wrong = ~np.asarray(holds(array))
        if wrong.any():
            positions = [tuple(int(i) for i in position) for position in np.argwhere(wrong)[:10]]
            raise self.failureException(
                f"{text}. {int(wrong.sum())} elements are not, for example at {positions}: {array}"
            )

    def assertAllGreater(self, a: Any, comparison_target: Any) -> None:
        """Fails unless all elements are greater than a number."""
        self._check_all(a, lambda x: x > comparison_target, f"Elements must be greater than {comparison_target}")

    def assertAllLess(self, a: Any, comparison_target: Any) -> None:
        """Fails unless all elements are less than a number."""
        self._check_all(a, lambda x: x < comparison_target, f"Elements must be less than {comparison_target}")

    def assertAllGreaterEqual(self, a: Any, comparison_target: Any) -> None:
        """Fails unless all elements are greater than or equal to a number."""
        self._check_all(a, lambda x: x >= comparison_target, f"Elements must be at least {comparison_target}")

    def assertAllLessEqual(self, a: Any, comparison_target: Any) -> None:
        """Fails unless all elements are less than or equal to a number."""
        self._check_all(a, lambda x: x <= comparison_target, f"Elements must be at most {comparison_target}")

    def assertAllInRange(
        self,
        target: Any,
        lower_bound: Any,
        upper_bound: Any,
        open_lower_bound: bool = False,
        open_upper_bound: bool = False,
    ) -> None:
        """Fails unless all elements are in a range.

        Args:
          target: a tensor or an array of numbers.
          lower_bound: lower end of the range.
          upper_bound: upper end of the range.
          open_lower_bound: whether the range excludes `lower_bound`.
          open_upper_bound: whether the range excludes `upper_bound`.
        """

        def inside(x: Array) -> Any:
            above = x > lower_bound if open_lower_bound else x >= lower_bound
            return above & (x < upper_bound if open_upper_bound else x <= upper_bound)

        brackets = "(" if open_lower_bound else "[", ")" if open_upper_bound else "]"
        self._check_all(target, inside, f"Elements must be in {brackets[0]}{lower_bound}, {upper_bound}{brackets[1]}")

    def assertAllInSet(self, target: Any, expected_set: Collection[Any]) -> None:
        """Fails unless all elements belong to a set."""
        self._check_all(target, lambda x: np.isin(x, list(expected_set)), f"Elements must be in {expected_set}")


def _plain(value: Any) -> Any:
    """Returns a named tuple as a dictionary."""
    return value._asdict() if hasattr(value, "_asdict") else value


def _is_ragged_list(value: Any) -> bool:
    """Returns whether a list cannot become an array because its items differ in shape or are structures."""
    if not isinstance(value, list | tuple):
        return False
    items: list[Any] = [*value]  # pyright: ignore[reportUnknownArgumentType]
    if any([isinstance(item, Mapping) or hasattr(item, "_asdict") or _is_ragged_list(item) for item in items]):
        return True
    return len({np.shape(item) if not hasattr(item, "shape") else tuple(item.shape) for item in items}) > 1


def _path(path: tuple[Any, ...]) -> str:
    return "".join([f"[{key!r}]" for key in path])


def _equal_elements(a: Array, b: Array) -> Array:
    """Returns a mask of the positions where two arrays are equal or both nan."""
    equal = np.asarray(a == b)
    if a.dtype.kind in "fc" and b.dtype.kind in "fc":
        equal = equal | (np.isnan(a) & np.isnan(b))
    if a.dtype == object or b.dtype == object:  # strings, which may be bytes in one of the two arrays
        texts = [np.array([_bytes(item) for item in array.ravel()], object).reshape(array.shape) for array in (a, b)]
        equal = np.asarray(texts[0] == texts[1])
    return equal


def _bytes(value: Any) -> Any:
    return value.encode() if isinstance(value, str) else value
