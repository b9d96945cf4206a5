"""`%check`: checks the answer to an exercise or a question of the tutorials."""

from __future__ import annotations

import argparse
import re
from difflib import SequenceMatcher, get_close_matches

from nbtf.notebook.checks.wording import listed, phrase
from nbtf.notebook.magics.cell_magics import add_line_magic
from nbtf.notebook.magics.options import options_of
from nbtf.notebook.session import Session, say

_LIKE = 0.6
"""How similar a name must be to be suggested, from 0 to 1: `ode` and `odd` are 0.67."""
_LETTER = re.compile(r"\(?[a-zA-Z]\)?")


def add_check_magic(session: Session) -> None:
    """Adds the magic."""
    options = options_of("%check")
    add_line_magic(session, "check", options, lambda chosen: _answer(session, chosen))


def _answer(session: Session, chosen: argparse.Namespace) -> None:
    from nbtf.notebook.checks.questions import QUESTIONS, judge_choice  # imported late, as in exercise_names

    checks, words = exercise_names(), list(chosen.name)
    while words:
        name = words.pop(0)
        if name in QUESTIONS:
            choice = words.pop(0) if words and words[0] not in (*checks, *QUESTIONS) else ""
            say(str(judge_choice(name, choice)))
        elif name in checks:
            from nbtf.notebook.checks.answers import verdict

            say(str(verdict(name, session.shell.user_ns)))
        else:
            if words and _LETTER.fullmatch(words[0]):
                del words[0]  # the choice for a misspelled question
            say(_unknown(name, checks))
    if not chosen.name:
        say(phrase("sentences", first=phrase("which"), second=_names(checks)))


def _unknown(name: str, checks: list[str]) -> str:
    """Returns the answer to a name that is neither an exercise nor a question."""
    from nbtf.notebook.checks.questions import QUESTIONS

    close = _closest(name.lower(), [*checks, *QUESTIONS])
    hint = phrase("closest", name=close) if close else _names(checks)
    return phrase("notYet", text=phrase("sentences", first=phrase("unknown", name=repr(name)), second=hint))


def _closest(name: str, names: list[str]) -> str:
    """Returns the most similar name, by letters in place if several are equally similar; empty if none is."""

    def similarity(other: str) -> tuple[float, int]:
        return SequenceMatcher(None, other, name).ratio(), sum(map(str.__eq__, other, name))

    return max(get_close_matches(name, names, 3, _LIKE), key=similarity, default="")


def _names(checks: list[str]) -> str:
    """Returns a list of the exercises; the questions are too many to be listed."""
    return phrase("exercises", names=listed(checks))


def exercise_names() -> list[str]:
    """Returns the names of the exercises, in the order of the lessons."""
    # Imported late: these modules load models and strategies, which only tutorials need.
    from nbtf.notebook.checks import memory, placement, several_gpus, training
    from nbtf.notebook.checks.answers import CHECKS

    modules = [module.__name__ for module in (placement, memory, several_gpus, training)]
    return sorted(CHECKS, key=lambda name: modules.index(CHECKS[name].__module__))
