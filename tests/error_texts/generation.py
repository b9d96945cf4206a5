"""Random texts that match a regular expression: every alternative, and optional parts both present and missing."""

from __future__ import annotations

import re
from importlib import import_module
from random import Random
from typing import Any

_parser: Any = import_module("re._parser")
_LETTERS = "0123456789abcXYZ_-./: ,%()[]"
_CATEGORIES = {"CATEGORY_DIGIT": "0123456789", "CATEGORY_WORD": "abz09_", "CATEGORY_SPACE": " "}
_LONGEST = 30


def matching(pattern: re.Pattern[str], random: Random) -> str:
    """Returns a text that matches a pattern, but for lookaheads, which are ignored."""
    return _sequence(_parser.parse(pattern.pattern), random)


def _sequence(items: Any, random: Random) -> str:
    return "".join(_item(str(name), value, random) for name, value in items)


def _item(name: str, value: Any, random: Random) -> str:
    match name:
        case "LITERAL":
            return chr(value)
        case "NOT_LITERAL":
            return random.choice([letter for letter in _LETTERS if ord(letter) != value])
        case "ANY":
            return random.choice(_LETTERS)
        case "IN":
            return _one_of(value, random)
        case "BRANCH":
            return _sequence(random.choice(value[1]), random)
        case "SUBPATTERN":
            return _sequence(value[3], random)
        case "MAX_REPEAT" | "MIN_REPEAT":
            least, most, items = value
            count = random.choice((least, random.randint(least, min(int(most), least + _LONGEST))))
            return "".join(_sequence(items, random) for _ in range(count))
        case _:
            return ""


def _one_of(choices: Any, random: Random) -> str:
    """Returns a character of a class, or one that a negated class excludes none of."""
    names = [(str(name), value) for name, value in choices]
    if names[0][0] == "NEGATE":
        excluded = {chr(value) for name, value in names if name == "LITERAL"}
        return random.choice([letter for letter in _LETTERS if letter not in excluded])
    name, value = random.choice(names)
    if name == "RANGE":
        return chr(random.randint(*value))
    return chr(value) if name == "LITERAL" else random.choice(_CATEGORIES[str(value)])
