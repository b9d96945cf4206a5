"""`%check`: is the answer to an exercise or to a question of the tutorials right?"""

from __future__ import annotations

import argparse

from nbtf.notebook.magics.cell_magics import add_line_magic
from nbtf.notebook.magics.options import Options
from nbtf.notebook.session import Session, say


def add_check_magic(session: Session) -> None:
    """Adds the magic."""
    options = Options("%check", "Says whether the answer to an exercise or a question is right. It never fails a cell.")
    options.add_argument(
        "name",
        metavar="NAME",
        nargs="*",
        help="the exercise, or a question and your choice: four_gpus b; without it: which exercises there are",
    )
    add_line_magic(session, "check", options, lambda chosen: _answer(session, chosen))


def _answer(session: Session, chosen: argparse.Namespace) -> None:
    from nbtf.notebook.checks.questions import QUESTIONS, judge_choice  # late, as in exercise_names

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
            say(f"Not yet: there is no exercise {name!r}. There are: {', '.join(checks)}.")
    if not chosen.name:
        say(f"Which exercise? %check NAME says whether its answer is right. There are: {', '.join(checks)}.")


def exercise_names() -> list[str]:
    """Returns the names that may be checked, in the order of the lessons."""
    # Late: models and strategies are loaded with them, and few notebooks are tutorials.
    from nbtf.notebook.checks import memory, placement, several_gpus
    from nbtf.notebook.checks.answers import CHECKS

    modules = [module.__name__ for module in (placement, memory, several_gpus)]
    return sorted(CHECKS, key=lambda name: modules.index(CHECKS[name].__module__))
