"""Does every command explain itself, and does what cannot be done end with a sentence and status 2?"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys

import pytest

import nbtf
from nbtf import cli
from nbtf._install import pip_install
from nbtf.cli.command_error import CommandError, require

COMMANDS = ["lab", "run", "devices", "doctor"]


@pytest.mark.parametrize("words", [["--help"], *([command, "--help"] for command in COMMANDS)])
def test_help_ends_well_and_explains(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        cli.main(words)

    assert 0 == end.value.code
    assert len(capsys.readouterr().out) > 200


@pytest.mark.parametrize("words", [[], ["no-such-command"], ["devices", "--no-such-option"]])
def test_command_that_is_not_there_is_refused(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        cli.main(words)

    assert 2 == end.value.code
    assert "usage: nbtf" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "usage", "suggestion"),
    [
        (["devises"], "usage: nbtf [", "unknown command 'devises'. Did you mean devices?"),
        (["notebooks", "chek", "."], "usage: nbtf notebooks [", "unknown command 'chek'. Did you mean check?"),
        (["devices", "--jsn"], "usage: nbtf devices [", "unrecognized arguments: --jsn. Did you mean --json?"),
        (["notebooks", "check", ".", "--tolerence=1"], "usage: nbtf notebooks check [", "Did you mean --tolerance?"),
        (["devices", "qqqq"], "usage: nbtf devices [", "unrecognized arguments: qqqq\n"),
    ],
)
def test_a_wrong_name_is_answered_with_the_closest_one(
    words: list[str], usage: str, suggestion: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as end:
        cli.main(words)

    shown = capsys.readouterr().err
    assert (end.value.code, shown[: len(usage)]) == (2, usage)
    assert suggestion in shown


def test_the_checker_alone_has_no_options_for_devices(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        cli.check(["--help"])

    shown = capsys.readouterr().out
    assert end.value.code == 0
    assert "nbtf-check" in shown
    assert [word for word in ("TensorFlow", "tensorflow", "GPU", "gpus") if word in shown] == []


def test_the_name_alone_is_answered_with_all_commands(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main([])

    shown = capsys.readouterr().err
    assert [] == [command for command in COMMANDS if f"\n    {command} " not in shown]
    assert "Where to start: nbtf lab" in shown


def test_version_is_that_of_the_package(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main(["--version"])

    assert f"nbtf {nbtf.runtime.version}\n" == capsys.readouterr().out


@pytest.mark.parametrize(
    ("raised", "status", "says"),
    [(CommandError("No."), 2, "nbtf: No.\n"), (KeyboardInterrupt(), 130, "nbtf: stopped\n")],
)
def test_error_of_a_command_is_one_line(
    raised: BaseException, status: int, says: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(chosen: argparse.Namespace) -> int:
        raise raised

    monkeypatch.setattr(cli.doctor, "doctor", refuse)

    assert (status, "", says) == (cli.main(["doctor"]), *capsys.readouterr())


def test_package_that_is_missing_comes_with_the_line_that_installs_it() -> None:
    with pytest.raises(CommandError) as error:
        require(["sys", "no_such_package"], "nbtf run")

    assert f"`nbtf run` needs no_such_package. Install with: {pip_install('lab')}" == str(error.value)


def nbtf_module(*words: str, **environ: str) -> subprocess.CompletedProcess[bytes]:
    """Runs `python -m nbtf` in a process of its own."""
    return subprocess.run([sys.executable, "-m", "nbtf", *words], env=os.environ | environ, capture_output=True)


@pytest.mark.parametrize(("words", "status"), [(["-h"], 0), (["no-such-command"], 2), (["run", "no-such-file"], 2)])
def test_module_is_the_command(words: list[str], status: int, capfd: pytest.CaptureFixture[str]) -> None:
    ended = nbtf_module(*words, COLUMNS="80", PYTHONIOENCODING="utf-8")
    try:
        here = cli.main(words)
    except SystemExit as end:  # of the parser
        here = end.code

    assert status == ended.returncode == here
    assert (ended.stdout.decode().split(), ended.stderr.decode().split()) == tuple(
        text.split() for text in capfd.readouterr()
    )


@pytest.mark.parametrize("encoding", ["ascii", "cp932", "cp1252"])
def test_letters_that_an_encoding_lacks_are_written_out(encoding: str) -> None:
    ended = nbtf_module("devices", NBTF_SIMULATED_GPUS="1", PYTHONIOENCODING=encoding)
    dashes = {"cp1252": "\u2013"}.get(encoding, r"\u2013")

    assert (0, b"") == (ended.returncode, ended.stderr)
    assert dashes in ended.stdout.decode(encoding)
