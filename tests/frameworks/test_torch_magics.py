"""Do the magics tell of PyTorch's ops by the words that they have for nbtf's own?"""

from __future__ import annotations

from typing import Any

import pytest

from tests.notebook.conftest import Shell
from tests.notebook.conftest import bare as bare
from tests.notebook.conftest import shell as shell

torch: Any = pytest.importorskip("torch", reason="needs PyTorch; one step of .ci/run has it")


def modes() -> list[Any]:
    return torch.utils._python_dispatch._get_current_dispatch_mode_stack()


def test_log_tells_ops_and_modules_from_the_line_that_asks_for_it(shell: Shell) -> None:
    said = shell.run("%placement_log watch torch").out
    shell.run("import torch", "model = torch.nn.Sequential(torch.nn.Linear(2, 2))")
    shell.run("y = model(torch.ones(1, 2))")
    table = shell.run("%placement_log show --op addmm").result

    assert "PyTorch's ops are recorded from now on, until %placement_log unwatch torch\n" == said
    assert ("aten::addmm", "0", "follows its input") == tuple(table.rows[-1][name] for name in ("op", "layer", "why"))
    assert table.rows[-1]["code"].endswith("y = model(torch.ones(1, 2))")
    assert "no longer recorded: torch\n" == shell.run("%placement_log unwatch").out
    assert [] == modes()


def test_views_are_folded_and_told_by_all(shell: Shell) -> None:
    shell.run("import torch", "%placement_log watch torch", "x = torch.ones(2, 2).t()")

    assert "folded: 1 view (`--all` shows them)" in shell.run("%placement_log table").result.notes
    assert "aten::t" in repr(shell.run("%placement_log table --all").result)
    shell.run("%placement_log unwatch")


def test_cell_whose_ops_are_shown_is_watched_and_says_so(shell: Shell) -> None:
    shell.run("import torch")

    out = shell.run("%%placement --table", "x = torch.ones(2)").out

    assert out.startswith("PyTorch's ops are also recorded in this cell.\n")
    assert "aten::ones" in out
    assert [] == modes()


def test_cell_that_was_interrupted_is_watched_no_longer(shell: Shell) -> None:
    shell.run("import torch")
    shell.run("%%placement", "torch.ones(2)", "raise KeyboardInterrupt")

    assert [] == modes()


def test_library_that_cannot_be_watched_is_refused(shell: Shell) -> None:
    assert "Libraries that can be watched:" in str(shell.run("%placement_log watch numpy").error)
