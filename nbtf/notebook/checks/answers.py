"""Answers of readers and verdicts about them: what all checks share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from nbtf import runtime
from nbtf.notebook.checks.wording import listed, phrase


class Verdict(NamedTuple):
    """Whether an answer is right, None if the reader has given none, and a sentence about it."""

    right: bool | None
    text: str

    def __str__(self) -> str:
        """Returns the line that a reader sees."""
        if self.right is None:
            return self.text
        return phrase("right" if self.right else "notYet", text=self.text)


class AnswerError(Exception):
    """Raised if an answer is missing or has the wrong type; the message names it."""


@dataclass(frozen=True, slots=True)
class Answers:
    """The variables that the notebook's cells have defined so far."""

    names: Mapping[str, Any]

    def read(self, name: str, *types: type[Any]) -> Any:
        """Returns the value of a variable.

        Args:
          name: the variable.
          *types: accepted types; without any, every type is accepted.

        Raises:
          AnswerError: if the variable is not defined, or its value has another type.
        """
        if name not in self.names:
            raise AnswerError(phrase("undefined", name=name))
        answer = self.names[name]
        if types and not isinstance(answer, types):
            raise AnswerError(phrase("wrongType", name=name, found=type(answer).__name__, expected=_either(types)))
        return answer

    def call(self, name: str) -> Callable[..., Any]:
        """Returns a function that the notebook has defined.

        Raises:
          AnswerError: if the name is not defined, or its value cannot be called.
        """
        function = self.read(name)
        if not callable(function):
            class_name = type(function).__name__
            raise AnswerError(phrase("wrongType", name=name, found=class_name, expected=phrase("function")))
        return function


def _either(types: tuple[type[Any], ...]) -> str:
    """Returns the names of types, such as `float or int`."""
    *first_names, last = (each.__name__ for each in types)
    return phrase("or", first=listed(first_names), last=last) if first_names else last


Check = Callable[[Answers], Verdict]

CHECKS: dict[str, Check] = {}
"""The checks, by the names of their exercises."""


def exercise(check: Check) -> Check:
    """Registers a check under the name of its function."""
    CHECKS[check.__name__] = check
    return check


def verdict(name: str, names: Mapping[str, Any]) -> Verdict:
    """Returns the verdict on an answer. If the check raises an error, the answer is not right.

    Args:
      name: the exercise, a key of `CHECKS`.
      names: the variables that the notebook's cells have defined.
    """
    try:
        return CHECKS[name](Answers(names))
    except AnswerError as error:
        return Verdict(False, str(error))
    except Exception as error:  # a reader's function may raise anything
        first_line = str(error).partition("\n")[0]
        return Verdict(False, phrase("raised", error=type(error).__name__, message=first_line))


def judged(is_right: bool, report: str, hint: str) -> Verdict:
    """Returns the verdict with a report, followed by the hint of a name if the answer is not right."""
    return Verdict(is_right, report if is_right else phrase("sentences", first=report, second=phrase(hint)))


def all_three(answer: Mapping[Any, Any], really: Mapping[str, Any], text: str) -> Verdict:
    """Returns the verdict on three values by name; the text lists the wrong ones."""
    wrong = [name for name in really if answer.get(name) != really[name]]
    return Verdict(False, phrase(text, names=listed(wrong))) if wrong else Verdict(True, phrase("allThree"))


def short_device(tensor: Any) -> str:
    """Returns the short name of a tensor's device, such as `GPU:1`; `no device` for other values."""
    full = getattr(tensor, "device", "")
    return runtime.short_name(full) if isinstance(full, str) and full else phrase("noDevice")
