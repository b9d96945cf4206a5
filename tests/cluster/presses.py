"""An interrupt that comes while the program waits for a task."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

import pytest

from nbtf._cluster.controller import Cluster


@contextmanager
def pressed(cluster: Cluster, at: int = 1, when: Callable[[], bool] = lambda: True) -> Generator[None]:
    """Raises KeyboardInterrupt where the program waits for an answer for the `at`-th time, as a press of stop does."""
    left = [at]
    with pytest.MonkeyPatch.context() as patch:
        for channel in cluster.channels:

            def wait(timeout: float, wait: Any = channel._changed.wait) -> Any:
                left[0] -= when()
                if left[0] == 0:
                    raise KeyboardInterrupt
                return wait(min(timeout, 0.01))  # so that `when` is asked again

            patch.setattr(channel._changed, "wait", wait)
        yield
