"""Tables of a cluster of 1024 cards: cut, with the total, and whole where that is asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import nbtf as tf
from nbtf.notebook.holders import table
from tests.machines import cluster
from tests.shells import interactive_shell

Run = Callable[[str], list[str]]


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    """Runs a magic of a notebook whose program uses sixteen of 1024 cards; returns its lines."""
    with cluster(128, 8), interactive_shell(tmp_path) as shell:
        tf.load_ipython_extension(shell)
        for number in range(16):
            with tf.device(f"/job:worker/task:{number}/GPU:0"):
                shell.push({f"x{number}": tf.ones([100])})
        yield lambda line: str(shell.run_cell(line).result).splitlines()
        tf.unload_ipython_extension(shell)


@pytest.mark.parametrize(("line", "rows"), [("%devices", "1,153"), ("%gpu_memory", "1,024")])
def test_a_table_is_cut_and_says_of_how_many_rows(run: Run, line: str, rows: str) -> None:
    cut, whole = run(line), run(f"{line} --all")

    assert len(cut) < 70
    assert [f" more of {rows} rows; `{line} --all` lists them"] == [
        text[text.index(" more") :] for text in cut if text.startswith("…")
    ]
    assert len(whole) > int(rows.replace(",", ""))
    assert not [text for text in whole if text.startswith("…")]


def test_holders_have_few_sentences_on_many_cards(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "SECONDS", 600.0)  # the search must end on a busy machine as well
    lines = run("%gpu_memory --who")

    assert 9 == len([text for text in lines if " in use in " in text])
    assert lines[-1].startswith("1,016 more of 1,024 GPUs: ")


def test_a_picture_has_no_rows_to_show_more_of(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    run("%devices --map --all")

    assert "--all needs a table" in "".join(capsys.readouterr())
