"""What did a reader answer, and is it right? The ground that all checks stand on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from nbtf import runtime


class Verdict(NamedTuple):
    """Whether an answer is right, and the sentence about it."""

    right: bool
    text: str

    def __str__(self) -> str:
        """Returns the line that a reader sees."""
        return f"{'Right' if self.right else 'Not yet'}: {self.text}"


class AnswerError(Exception):
    """There is nothing to check; the text says what is missing."""


@dataclass(frozen=True, slots=True)
class Answers:
    """The names that a notebook's cells have bound so far."""

    names: Mapping[str, Any]

    def read(self, name: str, *types: type[Any]) -> Any:
        """Returns what a name stands for.

        Args:
          name: a variable of the notebook.
          *types: what the answer may be; none: anything.

        Raises:
          AnswerError: the name is not bound, or what it stands for is of another type.
        """
        if name not in self.names:
            raise AnswerError(f"there is no `{name}`. Run the cells above first.")
        answer = self.names[name]
        if types and not isinstance(answer, types):
            expected = " or ".join(each.__name__ for each in types)
            raise AnswerError(f"`{name}` is of type {type(answer).__name__}. Wanted: {expected}.")
        return answer

    def call(self, name: str) -> Callable[..., Any]:
        """Returns a function of the notebook.

        Raises:
          AnswerError: the name is not bound, or cannot be called.
        """
        function = self.read(name)
        if not callable(function):
            raise AnswerError(f"`{name}` is of type {type(function).__name__}. Wanted: a function.")
        return function


Check = Callable[[Answers], Verdict]

CHECKS: dict[str, Check] = {}
"""The checks by the names of their exercises."""


def exercise(check: Check) -> Check:
    """Enters a check under its function's name."""
    CHECKS[check.__name__] = check
    return check


def verdict(name: str, names: Mapping[str, Any]) -> Verdict:
    """Returns what is said about an answer. A check that fails has not seen a right answer, and says why.

    Args:
      name: the exercise, a key of `CHECKS`.
      names: what the notebook's cells have bound.
    """
    try:
        return CHECKS[name](Answers(names))
    except AnswerError as error:
        return Verdict(False, str(error))
    except Exception as error:  # whatever a reader's function raises is an answer, too
        first_line = str(error).partition("\n")[0]
        return Verdict(False, f"checking it raised {type(error).__name__}: {first_line}")


def short_device(tensor: Any) -> str:
    """Returns where a tensor is, as in `GPU:1`; `no device` for what is no tensor."""
    full = getattr(tensor, "device", "")
    return runtime.short_name(full) if isinstance(full, str) and full else "no device"
