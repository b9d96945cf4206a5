"""Does the program know how long it worked, and how long it waited for a processor?"""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from nbtf.notebook.views import processor
from nbtf.notebook.views.processor import Work, main_thread_work


@pytest.mark.skipif(not Path(processor._PATH).exists(), reason="this system does not say")
def test_work_is_counted_and_sleep_is_not() -> None:
    start, before = main_thread_work(), time.process_time()
    while time.process_time() - before < 0.2:
        pass
    worked = main_thread_work()
    time.sleep(0.2)
    slept = main_thread_work()

    assert 0.1 < worked.since(start).worked
    assert 0.1 > slept.since(worked).worked
    assert slept.waited >= worked.waited >= start.waited


@pytest.mark.parametrize("text", [None, "", "1 2\n", "one two three\n"])
def test_a_system_that_does_not_say_is_told_as_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, text: str | None
) -> None:
    path = tmp_path / "schedstat"
    if text is not None:
        path.write_text(text, encoding="ascii")
    monkeypatch.setattr(processor, "_PATH", str(path))

    assert Work(0.0, 0.0) == main_thread_work()
