"""Does a test meet its markers for placement and memory? The checks are those of the cell magics."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager

import pytest

from nbtf import runtime
from nbtf._frameworks.op_watch import OpWatch
from nbtf.cli.checking.budgets import NOTHING


@contextmanager
def recorded() -> Generator[runtime.Recording]:
    """Records a block, including the ops of other libraries."""
    op_watch = OpWatch.of_all()
    with runtime.recording() as record:
        op_watch.start_if_possible()
        try:
            yield record
        finally:
            op_watch.stop()


@contextmanager
def within_limits(marks: Sequence[pytest.Mark]) -> Generator[None]:
    """Records a block, and fails if it broke a marker's limits; an error in the block itself takes precedence.

    Args:
      marks: `placement` and `gpu_memory`, with the arguments of `Recording.expect` and `Recording.expect_memory`.
    """
    with recorded() as record:
        yield
    for mark in marks:
        check = record.expect if mark.name == "placement" else record.expect_memory
        try:
            check(*mark.args, **mark.kwargs)
        except runtime.ExpectationError as error:
            raise pytest.fail.Exception(str(error), pytrace=False) from None
        except (TypeError, ValueError) as error:
            raise pytest.fail.Exception(f"@pytest.mark.{mark.name}: {error}", pytrace=False) from None
        if mark.name == "gpu_memory" and not record.memory:
            pytest.fail(NOTHING.replace("--gpus", "--nbtf-gpus"), pytrace=False)
