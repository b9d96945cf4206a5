"""Does `%devices --save` write the page of what ran, or say why not?"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from IPython.core.error import UsageError

from tests.notebook.conftest import Shell


def test_magic_saves_what_ran(shell: Shell, tmp_path: Path) -> None:
    shell.run("c = tf.matmul(tf.ones([9, 9]), tf.ones([9, 9]))")

    said = shell.run(f"%devices --save '{tmp_path / 'my page.html'}'").out

    assert re.fullmatch(r"wrote \d+ events to .*my page\.html\n", said)
    text = (tmp_path / "my page.html").read_text(encoding="utf-8")
    assert "MatMul" in text
    assert "c = tf.matmul(" in text


@pytest.mark.parametrize("file", ["none/page.html", "."], ids=["no-folder", "a-folder"])
def test_magic_says_why_nothing_is_saved(shell: Shell, file: str) -> None:
    shell.run("tf.ones([9])")

    error = shell.run(f"%devices --save {file}").error

    assert isinstance(error, UsageError)
    assert f"%devices --save: cannot write {file}: " in str(error)


def test_magic_refuses_a_session_in_which_nothing_ran(shell: Shell, tmp_path: Path) -> None:
    error = shell.run(f"%devices --save {tmp_path / 'page.html'}").error

    assert isinstance(error, UsageError)
    assert "Nothing ran" in str(error)
