"""What of a text gets to a terminal?"""

from __future__ import annotations

import unicodedata

import pytest

from nbtf.cli.printable import first_line, printable, wrapped


def test_what_shows_stays() -> None:
    text = "naïve\n\t図 🙂 €"

    assert text == printable(text)


def test_no_character_that_steers_is_left() -> None:
    steering = {"Cc", "Cs", "Zl", "Zp"}
    characters = [chr(code) for code in range(0x110000)]
    shown = printable("".join(characters))

    assert {"\n", "\t"} == {char for char in shown if unicodedata.category(char) in steering}
    assert not {
        char for char in shown if unicodedata.bidirectional(char) in {*"LRE RLE LRO RLO PDF LRI RLI FSI PDI".split()}
    }
    assert "\\x1b\\u202e\\udc80" == printable("\x1b\u202e\udc80")


@pytest.mark.parametrize(
    ("source", "width", "shown"),
    [
        ("abcde", 5, "abcde"),
        ("abcdef", 5, "abcd…"),
        ("\n# why\n  x = 1\ny = 2", 9, "x = 1"),
        ("# only\n# comments", 9, "# only"),
        ("", 9, ""),
    ],
)
def test_first_line_of_code_is_cut_to_the_width(source: str, width: int, shown: str) -> None:
    assert shown == first_line(source, width)


def test_lines_are_broken_for_a_terminal_only(monkeypatch: pytest.MonkeyPatch) -> None:
    line = "  held by " + "a name " * 20
    monkeypatch.setenv("COLUMNS", "40")
    assert line == wrapped(line)

    monkeypatch.setattr("sys.stdout.isatty", lambda: True)

    lines = wrapped(line).splitlines()
    assert max(map(len, lines)) <= 40
    assert lines[1].startswith("    ")
    assert line.split() == wrapped(line).split()
    assert "日本語 " * 30 == wrapped("日本語 " * 30)
