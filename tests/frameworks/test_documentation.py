"""Does the documentation's PyTorch code print what the pages show, and make files that nbtf opens?"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from unittest.mock import Mock, create_autospec

import pytest

import nbtf as tf
from tests.docs.record import DOCS, pages
from tests.rings import with_nightly

torch = pytest.importorskip("torch", reason="needs PyTorch")

PAGES = pages("torch")
LONG = ("predict_memory", "pytorch")
"""Pages that take longer than all others together."""


@pytest.mark.skipif(torch.cuda.is_available(), reason="needs a PyTorch without a GPU: its GPUs are simulated")
@pytest.mark.parametrize(
    "page",
    with_nightly([each for each in PAGES if each.stem not in LONG], [each for each in PAGES if each.stem in LONG]),
    ids=lambda page: page.stem,
)
def test_code_prints_what_the_page_shows(page: Path, tmp_path: Path) -> None:
    copy = shutil.copy(page, tmp_path)
    environ = os.environ | {"PYTHONPATH": str(DOCS.parents[1])}
    subprocess.run([sys.executable, "-m", "tests.docs.record", copy], env=environ, cwd=DOCS.parents[1], check=True)

    assert page.read_text(encoding="utf-8") == Path(copy).read_text(encoding="utf-8")


def recipe(name: str) -> str:
    """Returns the code that a page gives for a machine with a card, found by a name in it."""
    page = (DOCS / "guides" / "your_own_snapshot.md").read_text(encoding="utf-8")
    return next(code for code in re.findall(r"```\{code-block\} python\n(.*?)```", page, re.DOTALL) if name in code)


def test_recipe_calls_functions_for_snapshots_as_pytorch_defines_them(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("_record_memory_history", "_dump_snapshot")
    calls = [create_autospec(getattr(torch.cuda.memory, name)) for name in names]
    for name, call in zip(names, calls, strict=True):
        monkeypatch.setattr(torch.cuda.memory, name, call)

    with pytest.raises(MemoryError):
        exec(recipe("_dump_snapshot"), {"train": Mock(side_effect=MemoryError)})

    assert [1, 1] == [call.call_count for call in calls]


@pytest.mark.filterwarnings("ignore")  # there is no card to profile
def test_recipe_writes_a_trace_that_opens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    exec(recipe("export_chrome_trace"), {"train_step": lambda: torch.ones(8, 8) @ torch.ones(8, 8)})

    events = tf.runtime.read_trace("trace.json.gz").events
    assert "aten::matmul" in {event.op for event in events if isinstance(event, tf.runtime.OpExecuted)}
