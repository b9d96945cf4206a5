"""Does `nbtf explain` read files and standard input, and do its exit status and its JSON show what it recognised?"""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from nbtf import cli
from nbtf._error_texts import cleaning

TEXT = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 23.60 GiB "
    "of "
    "which 500.00 MiB is free. Process 4711 has 12.00 GiB memory in use. Including non-PyTorch memory, this process "
    "has "
    "11.11 GiB memory in use. Of the allocated memory 10.20 GiB is allocated by PyTorch, and 100.00 MiB is reserved by "
    "PyTorch but unallocated."
)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "train.log"
    path.write_text(f"step 1\nstep 2\n{TEXT}\n")
    return path


def explained(*words: str) -> int:
    return cli.main(["explain", *words])


def test_file_is_explained(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert 0 == explained(str(log))
    shown = capsys.readouterr().out
    assert "PyTorch, line 3" in shown
    assert "Another process: 12.00 GiB of the card" in shown
    assert "2. kill 4711" in shown


def test_standard_input_is_explained(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(TEXT.encode())))

    assert 0 == explained("-")
    assert "PyTorch, line 1" in capsys.readouterr().out


def test_other_text_is_not_recognised(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("java.lang.OutOfMemoryError: Java heap space")

    assert 1 == explained(str(path))
    assert capsys.readouterr().out.startswith("I do not recognise this text. Expected: out-of-memory errors of PyTorch")
    assert 1 == explained(str(path), "--json")
    assert {"schema": "nbtf-explain/1", "recognised": False, "findings": [], "left_out": 0} == json.loads(
        capsys.readouterr().out
    )


def test_json_has_sizes_in_bytes(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert 0 == explained(str(log), "--json")
    answer = json.loads(capsys.readouterr().out)
    (finding,) = answer["findings"]

    assert "nbtf-explain/1" == answer["schema"]
    assert ["otherProcess"] == [cause["name"] for cause in finding["causes"]]
    assert {"name": "request", "value": 2 << 30, "written": "2.00 GiB"} in finding["figures"]
    assert 2 << 30 == finding["values"]["request"]


@pytest.mark.parametrize(
    ("language", "word"), [("ja", "別のプロセス"), ("zh_CN", "其他进程"), ("en", "Another process")]
)
def test_language_is_chosen_by_option_or_environment(
    language: str, word: str, log: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    explained(str(log), "--language", language)
    assert word in capsys.readouterr().out
    monkeypatch.setenv("NBTF_LANG", language)
    explained(str(log))
    assert word in capsys.readouterr().out


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig", "latin-1"])
def test_encoding_of_a_log_does_not_matter(encoding: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "log"
    path.write_bytes(f"é\r\n{TEXT}\r\n".encode(encoding))

    assert 0 == explained(str(path))
    assert "PyTorch, line 2" in capsys.readouterr().out


def test_control_characters_do_not_reach_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "log"
    path.write_text("\x07\x1b]2;title Assertion\x9b thread: [1,2,3] Assertion `i < \x1bc\x08n` failed.")

    assert 0 == explained(str(path))
    assert not set("\x07\x08\x1b\x9b") & set(capsys.readouterr().out)


@pytest.mark.parametrize("name", ["missing.log", "."])
def test_what_cannot_be_read_is_one_sentence(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert 2 == explained(str(tmp_path / name))
    assert capsys.readouterr().err.startswith("nbtf: cannot read ")


def test_file_that_is_too_long_is_one_sentence(
    log: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cleaning, "LONGEST", 100)

    assert 2 == explained(str(log))
    assert "Expected at most 100." in capsys.readouterr().err
