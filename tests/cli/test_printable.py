"""What of a text gets to a terminal?"""

from __future__ import annotations

import unicodedata

from nbtf.cli.printable import printable


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
