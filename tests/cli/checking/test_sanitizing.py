"""What varies from run to run without meaning anything?"""

from __future__ import annotations

from pathlib import Path

import pytest

from nbtf.cli.checking.sanitizing import BUILT_IN, read_rules, sanitized
from nbtf.cli.command_error import CommandError

RULES = read_rules([BUILT_IN])


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("<object at 0x7f3a2b1c4d5e>", "<object at 0x7f3a2b1c4d5f>"),
        ("in 3.5 ms", "in 120 s"),
        ("cell 3, line 2", "cell 14, line 2"),
        ("a  b", "a     b"),
        ("/tmp/ipykernel_7/4116945699.py:2: UserWarning", "C:\\Temp\\ipykernel_11\\4116945699.py:2: UserWarning"),
        ("1f0e6f3a-3d4f-4f5a-9a55-0123456789ab", "2f0e6f3a-3d4f-4f5a-9a55-0123456789ab"),
    ],
    ids=["address", "time", "cell", "blanks", "file of a cell", "UUID"],
)
def test_what_varies_is_the_same(first: str, second: str) -> None:
    assert sanitized(first, RULES) == sanitized(second, RULES)


@pytest.mark.parametrize(("first", "second"), [("a b", "a c"), ("a b", "ab"), ("cell 3, line 2", "cell 3, line 4")])
def test_everything_else_counts(first: str, second: str) -> None:
    assert sanitized(first, RULES) != sanitized(second, RULES)


def test_ids_of_a_page_are_numbered_and_what_names_them_follows() -> None:
    page = '<table id="T_{0}"><td id="T_{0}_row0">1</td></table><style>#T_{0} td, #T_{0}_row0 {{}}</style>'

    assert sanitized(page.format("5f1a"), [], "text/html") == sanitized(page.format("9c2b"), [], "text/html")
    assert sanitized(page.format("5f1a"), [], "text/plain") != sanitized(page.format("9c2b"), [], "text/plain")
    assert sanitized('<i id="a"></i><u href="#b">', [], "text/html") != sanitized(
        '<i id="a"></i><u href="#a">', [], "text/html"
    )


def test_rules_of_a_file_come_after_ours_and_may_replace_them(tmp_path: Path) -> None:
    own = tmp_path / "own.cfg"
    own.write_text("[a]\nregex: (v)\\d+\nreplace: \\1N\n\n[b]\nregex: (?<=\\bat )0x[0-9a-fA-F]+\nreplace: WHERE\n")

    rules = read_rules([BUILT_IN, own])

    assert sanitized("v12 at 0x7f3a2b1c4d5e", rules) == "vN at WHERE"


@pytest.mark.parametrize("rule", ["regex: (\nreplace: a", "regex: a\nreplace: \\1"])
def test_a_rule_that_is_none_is_refused(tmp_path: Path, rule: str) -> None:
    file = tmp_path / "own.cfg"
    file.write_text(f"[a]\n{rule}\n")

    with pytest.raises(CommandError, match="invalid rule "):
        read_rules([file])


def test_rules_that_cannot_be_read_are_refused(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="cannot read the rules in"):
        read_rules([tmp_path / "missing.cfg"])
