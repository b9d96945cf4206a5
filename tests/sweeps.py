"""Runs a check on many small cases within one test, and reports every case that fails."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest

from nbtf._runtime.context import Context, use_context


def check_each(cases: Iterable[Any], check: Callable[[Any], object], name: Callable[[Any], object] = str) -> None:
    """Runs a check on each case, with devices of its own, and fails with the names and errors of all failing cases.

    A check that skips counts for nothing: the test is skipped if all cases are.
    """
    errors: list[Exception] = []
    names: list[str] = []
    skipped: list[str] = []
    count = 0
    for case in cases:
        count += 1
        try:
            with use_context(Context(environ={})):
                check(case)
        except pytest.skip.Exception as skip:
            skipped.append(f"{name(case)}: {skip}")
        except (Exception, pytest.fail.Exception) as error:
            names.append(str(name(case)))
            errors.append(_named(error, names[-1]))
    assert count, "there are no cases"
    if errors:
        raise ExceptionGroup(f"{len(errors)} of {count} cases fail: {'; '.join(names)}", errors)
    if len(skipped) == count:
        pytest.skip(skipped[0])


def check_all(case: Any, *checks: Callable[[Any], object]) -> None:
    """Runs several checks on one case, and fails with the names and errors of all checks that fail."""
    check_each(checks, lambda check: check(case), lambda check: check.__name__)


def _named(error: BaseException, name: str) -> Exception:
    """Returns an error of a case with the case's name, in a note that the traceback shows."""
    ordinary = error if isinstance(error, Exception) else AssertionError(str(error))
    ordinary.add_note(f"case: {name}")
    return ordinary
