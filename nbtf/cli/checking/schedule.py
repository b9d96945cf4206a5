"""In which order are notebooks checked, and how many at once? Verdicts are reported in the order of the notebooks."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

from nbtf.cli.checking.notebook_check import Plan, check
from nbtf.cli.checking.verdicts import NotebookVerdict
from nbtf.cli.execution import wait_for


def check_all(
    paths: Sequence[Path],
    plan: Plan,
    at_once: int,
    tell: Callable[[NotebookVerdict], None],
    is_fail_fast: bool = False,
) -> list[NotebookVerdict]:
    """Checks notebooks and returns the verdicts.

    Args:
      paths: the notebooks.
      plan: how they are checked.
      at_once: maximum number of kernels that run at the same time.
      tell: function called with each verdict as soon as all earlier ones have been reported.
      is_fail_fast: whether the first notebook that is wrong ends the check.
    """
    return wait_for(_check_all(paths, plan, at_once, tell, is_fail_fast))


async def _check_all(
    paths: Sequence[Path], plan: Plan, at_once: int, tell: Callable[[NotebookVerdict], None], is_fail_fast: bool
) -> list[NotebookVerdict]:
    free = asyncio.Semaphore(at_once)
    has_failed = False

    async def check_when_free(path: Path) -> NotebookVerdict:
        nonlocal has_failed
        async with free:
            if is_fail_fast and has_failed:
                raise asyncio.CancelledError
            verdict = await check(path, plan)
            has_failed |= verdict.is_wrong
            return verdict

    tasks = [asyncio.ensure_future(check_when_free(path)) for path in paths]
    verdicts: list[NotebookVerdict] = []
    try:
        for task in tasks:
            verdicts.append(await task)
            tell(verdicts[-1])
            if is_fail_fast and verdicts[-1].is_wrong:
                break
    finally:  # after Ctrl-C or a closed pipe, no kernel is left running
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    return verdicts
