"""Do shells load the printed scripts, and complete commands and options with them?"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from nbtf import cli
from tests.rings import with_nightly

LINES = {
    "nbtf dev": ["devices"],
    "nbtf notebooks check --fail": ["--fail-fast"],
    "nbtf-check --sta": ["--startup-timeout"],
}
USUAL, OTHERS = [*LINES][:1], [*LINES][1:]

BASH = """
eval "$(nbtf completion bash)"
words=({line})
COMP_LINE="{line}" COMP_POINT={length} COMP_TYPE=9 COMP_CWORD=$((${{#words[@]}} - 1)) COMP_WORDS=("${{words[@]}}")
_python_argcomplete {program}
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
ZSH = """
autoload -U compinit && compinit -u -D
eval "$(nbtf completion zsh)"
print -- $_comps[{program}]
"""
FISH = "nbtf completion fish | source; complete -C '{line}'"


def shell(name: str, script: str) -> list[str]:
    """Runs a script in a shell that finds this Python's programs; returns the words that it prints."""
    program = shutil.which(name)
    if program is None:
        assert "CI" not in os.environ, f"{name} is not installed"
        pytest.skip(f"{name} is not installed")
    environ = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    options = ["-f"] if name == "zsh" else ["--no-config"] if name == "fish" else ["--norc"]
    ended = subprocess.run([program, *options, "-c", script], env=environ, capture_output=True, text=True, check=False)
    assert ended.stderr == ""
    return ended.stdout.split()


@pytest.mark.parametrize("line", with_nightly(USUAL, OTHERS))
def test_bash_completes(line: str) -> None:
    script = BASH.format(line=line, length=len(line), program=line.split()[0])

    assert shell("bash", script) == LINES[line]


@pytest.mark.parametrize("line", with_nightly(USUAL, OTHERS))
def test_fish_completes(line: str) -> None:
    assert set(LINES[line]) <= set(shell("fish", FISH.format(line=line)))


@pytest.mark.parametrize("program", ["nbtf", "nbtf-check"])
def test_zsh_knows_a_function_that_completes(program: str) -> None:
    assert shell("zsh", ZSH.format(program=program)) == ["_python_argcomplete"]


def test_the_script_of_each_shell_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("bash", "zsh", "fish"):
        assert cli.main(["completion", name]) == 0
        assert "nbtf-check" in capsys.readouterr().out
