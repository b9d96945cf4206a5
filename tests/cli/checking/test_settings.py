"""What may a project say in its file, and to which notebooks does it apply?"""

from __future__ import annotations

from pathlib import Path

import pytest

from nbtf.cli.checking.settings import Settings, find_settings, read_settings
from nbtf.cli.command_error import CommandError

FILE = """
[tool.nbtf.check]
gpus = "4xA100-40GB"
timeout = 300
tolerance = 1
vary = ["times"]
exclude = ["drafts"]
sanitize = ["rules.cfg"]

[tool.nbtf.check.limits."*.ipynb"]
tolerance = 1e-6
at_most = "2GiB"

[tool.nbtf.check.limits."deep/06_*.ipynb"]
at_most = "1GiB"
"""


def settings(folder: Path, text: str) -> Settings:
    file = folder / "pyproject.toml"
    file.write_text(text)
    return read_settings(file)


def test_options_and_rules_are_read(tmp_path: Path) -> None:
    project = settings(tmp_path, FILE)

    assert project.options == {
        "gpus": "4xA100-40GB",
        "timeout": 300,
        "tolerance": 1,
        "vary": ["times"],
        "exclude": ["drafts"],
    }
    assert project.sanitize == (tmp_path / "rules.cfg",)


def test_limits_apply_by_pattern_and_the_later_one_counts(tmp_path: Path) -> None:
    project = settings(tmp_path, FILE)

    assert project.limits_of(tmp_path / "a.ipynb") == {"tolerance": 1e-6, "at_most": "2GiB"}
    assert project.limits_of(tmp_path / "deep" / "06_a.ipynb") == {"tolerance": 1e-6, "at_most": "1GiB"}


def test_the_nearest_file_counts_also_when_it_says_nothing(tmp_path: Path) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    settings(tmp_path, FILE)

    assert find_settings(inner).options["timeout"] == 300
    (inner.parent / "pyproject.toml").write_text("[project]\n")
    assert find_settings(inner) == Settings()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[tool.nbtf.check]\nvary = [3]", "vary must be a list of strings"),
        ("", "has no table [tool.nbtf.check]"),
        ("[tool.nbtf.check", "cannot read"),
        ("[tool.nbtf]\ncheck = 3", "is not a table"),
        ("[tool.nbtf.check]\nspeed = 3", "unknown option 'speed'. Options: gpus, "),
        ("[tool.nbtf.check]\ntimeout = 'long'", "timeout must be a whole number, got 'long'"),
        ("[tool.nbtf.check]\nlimits = 3", "[tool.nbtf.check.limits] is not a table"),
        ("[tool.nbtf.check.limits.'a*']\nspeed = 3", "limits of a*: unknown limit 'speed'"),
    ],
)
def test_what_cannot_be_is_refused(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(CommandError) as refused:
        settings(tmp_path, text)

    assert words in str(refused.value)
