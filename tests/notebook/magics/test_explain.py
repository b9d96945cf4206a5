"""Do `%explain` and `%%explain` explain the last error and a pasted text, without running anything?"""

from __future__ import annotations

import sys

import pytest

from nbtf.notebook.error_reports.notebook_report import ErrorReport
from tests.notebook.conftest import Shell

OUT = "CUDA out of memory. Tried to allocate 9.00 GiB (GPU 0; 8.00 GiB total capacity; 1.00 GiB already allocated; "
OUT += "6.50 GiB free; 1.10 GiB reserved in total by PyTorch)"


@pytest.fixture(autouse=True)
def no_last_error(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("last_exc", "last_value", "last_type", "last_traceback"):
        monkeypatch.delattr(sys, name, raising=False)


def test_pasted_text_is_explained_and_not_run(shell: Shell) -> None:
    ran = shell.run("%%explain", "made = 1", "Traceback (most recent call last):", f"RuntimeError: {OUT}")

    assert isinstance(ran.result, ErrorReport)
    assert "The request is larger than the card: 9.00 GiB of 8.00 GiB." in repr(ran.result)
    assert "made" not in shell.ip.user_ns


def test_last_error_is_explained(shell: Shell) -> None:
    shell.run(f"raise RuntimeError({OUT!r})")

    assert "larger than the card" in repr(shell.run("%explain").result)


def test_last_error_is_explained_with_its_cause(shell: Shell) -> None:
    shell.run(
        "try:",
        f"    raise RuntimeError({OUT!r})",
        "except RuntimeError as error:",
        "    raise ValueError('no') from error",
    )

    assert "larger than the card" in repr(shell.run("%explain").result)


def test_out_of_memory_of_nbtf_is_explained(shell: Shell) -> None:
    shell.run("tf.zeros([2**30])")
    shown = repr(shell.run("%explain").result)

    assert "nbtf, line" in shown
    assert "larger than the limit" in shown


def test_without_an_error_a_sentence_says_what_to_do(shell: Shell) -> None:
    ran = shell.run("%explain")

    assert None is ran.result
    assert "Paste a text below %%explain." in ran.out


def test_other_error_is_not_recognised(shell: Shell) -> None:
    shell.run("1 / 0")

    assert "I do not recognise this text." in repr(shell.run("%explain").result)


def test_language_is_that_of_the_environment(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NBTF_LANG", "zh_CN")

    assert "请求大于显卡" in repr(shell.run("%%explain", OUT).result)


def test_unloading_removes_the_magics(shell: Shell) -> None:
    import nbtf as tf

    tf.unload_ipython_extension(shell.ip)

    assert "explain" not in shell.ip.magics_manager.magics["line"]
    assert "explain" not in shell.ip.magics_manager.magics["cell"]
