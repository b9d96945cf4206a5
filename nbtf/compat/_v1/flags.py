"""`tf.flags`: named command-line arguments."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

from nbtf._public import public_names as _public_names


def __dir__() -> list[str]:
    return _public_names(__name__)


class FlagValues:
    """The flags of a program as attributes, parsed from the command line on first access.

    Arguments that are not flags, such as those passed to a notebook kernel, are left alone.
    """

    def __init__(self) -> None:
        self.__dict__["_readers"] = {}
        self.__dict__["_values"] = {}
        self.__dict__["_read"] = False

    def define(self, name: str, default: Any, reader: Callable[[str], Any], help: str | None) -> None:
        """Adds a flag.

        Args:
          name: name of the flag.
          default: value used if the command line does not set the flag.
          reader: converts the argument's text to a value.
          help: description of the flag.
        """
        self._readers[name] = reader
        self._values[name] = default

    def __call__(self, argv: Sequence[str], known_only: bool = True) -> list[str]:
        """Parses a command line that starts with the program's name, and returns the remaining arguments.

        Args:
          argv: the arguments.
          known_only: accepted and ignored; unknown arguments are always kept.

        Raises:
          ValueError: if a value is invalid for its flag.
        """
        self.__dict__["_read"] = True
        unread, words = list(argv[:1]), list(argv[1:])
        while words:
            word = words.pop(0)
            name, equals, text = word.lstrip("-").partition("=")
            if not word.startswith("-") or not self._take(name, text if equals else None, words):
                unread.append(word)
        return unread

    def _take(self, name: str, text: str | None, words: list[str]) -> bool:
        """Reads a flag's value from the arguments and returns whether the flag is defined."""
        reader = self._readers.get(name)
        if reader is None:
            if name.startswith("no") and self._readers.get(name[2:]) is _truth and text is None:
                self._values[name[2:]] = False
                return True
            return False
        if text is None:
            text = "true" if reader is _truth else words.pop(0) if words else ""
        self._values[name] = reader(text)
        return True

    def __getattr__(self, name: str) -> Any:
        """Returns a flag's value."""
        if name.startswith("__") or name not in self._values:
            raise AttributeError(name)
        if not self._read:
            self(sys.argv)
        return self._values[name]

    def __setattr__(self, name: str, value: Any) -> None:
        """Sets a flag's value."""
        self._values[name] = value

    def __delattr__(self, name: str) -> None:
        """Removes a flag so that it can be defined again."""
        self._readers.pop(name, None)
        self._values.pop(name, None)

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def flag_values_dict(self) -> dict[str, Any]:
        """Returns a dictionary of all flags and their values."""
        return dict(self._values)


FLAGS = FlagValues()


def _truth(text: str) -> bool:
    if text.lower() in ("true", "t", "1", "yes"):
        return True
    if text.lower() in ("false", "f", "0", "no"):
        return False
    raise ValueError(f"Non-boolean argument to boolean flag: {text}")


def _definer(reader: Callable[[str], Any], noun: str) -> Callable[..., None]:
    """Returns the function that adds a flag whose text a reader converts."""

    def define(name: str, default: Any, help: str | None = None) -> None:
        FLAGS.define(name, default, reader, help)

    define.__doc__ = f"Adds {noun} flag."
    return define


DEFINE_string = _definer(str, "a string")
DEFINE_integer = _definer(int, "an integer")
DEFINE_float = _definer(float, "a float")
DEFINE_boolean = _definer(_truth, "a Boolean")
DEFINE_bool = DEFINE_boolean


def DEFINE_enum(name: str, default: str | None, enum_values: Sequence[str], help: str | None = None) -> None:  # noqa: N802
    """Adds a flag that accepts only the given strings."""

    def reader(text: str) -> str:
        if text not in enum_values:
            raise ValueError(f"value should be one of <{'|'.join(enum_values)}>")
        return text

    FLAGS.define(name, default, reader, help)


def DEFINE_list(name: str, default: Any, help: str | None = None) -> None:  # noqa: N802
    """Adds a flag whose value is a comma-separated list of strings."""
    values = default.split(",") if isinstance(default, str) else default
    FLAGS.define(name, values, lambda text: text.split(","), help)
