"""Do snapshots show themselves at the end of a cell, with their views if a kernel answers?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from nbtf.notebook.session import SESSIONS
from nbtf.notebook.views.pump import pump_of
from tests.docs.record import SAMPLE
from tests.notebook.conftest import Shell
from tests.notebook.conftest import bare as bare
from tests.notebook.conftest import shell as shell


@pytest.mark.parametrize("line", [f"%gpu_memory --file {SAMPLE}", "open_snapshot(SAMPLE)"])
def test_without_a_kernel_there_is_a_picture(shell: Shell, line: str) -> None:
    shell.run("from nbtf._snapshots.reading import open_snapshot", f"SAMPLE = {str(SAMPLE)!r}")

    shown = shell.ip.display_formatter.format(shell.run(line).result)[0]

    assert shown["image/svg+xml"].startswith("<svg")
    assert "GPU:0: at most 166 MiB in use" in shown["image/svg+xml"]


def test_views_ask_the_kernel_for_the_scene(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("anywidget", reason="needs the lab extra")
    monkeypatch.setenv("NBTF_LIVE", "inline")
    pump_of(SESSIONS[shell.ip])
    view: Any = shell.run(f"%gpu_memory --file {SAMPLE}").result

    answer = view._answer({"what": "scene"})

    assert ["GPU:0"] == [device["name"] for device in answer["memory"]]
    assert "snapshot.json.gz" == answer["file"]["title"]
    assert json.dumps(answer)
    assert "peak allocated 166 MiB" in repr(view)


def test_missing_file_is_one_sentence(shell: Shell, tmp_path: Path) -> None:
    error = shell.run(f"%gpu_memory --file {tmp_path / 'none.pickle'}").error

    assert "cannot read" in str(error)
