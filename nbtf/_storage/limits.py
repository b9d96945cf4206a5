"""Size limits of saved files: one table for saving and reading.

A save that exceeds a limit raises an error before it touches the earlier copy, so every saved file can be read again.
The limits protect readers, because a file may come from an untrusted source.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass


class UnsavableError(ValueError):
    """Raised if a value is too large for a file or has an unsupported type.

    Args:
      text: the value and what was expected, as a sentence.
      advice: how to save it differently, as a sentence.
    """

    def __init__(self, text: str, advice: str = "") -> None:
        """Stores the sentences."""
        super().__init__(text)
        self.advice = advice


@contextmanager
def saving(path: object) -> Generator[None]:
    """Adds the file's name to an `UnsavableError` raised in the block; the file is unchanged.

    Args:
      path: the file or folder.

    Raises:
      UnsavableError: if the block raised one, or exceeded Python's recursion limit.
    """
    try:
        yield
    except UnsavableError as error:
        raise UnsavableError(f"{path} was not saved: {error} {error.advice}".rstrip()) from None
    except RecursionError:
        raise UnsavableError(
            f"{path} was not saved: its objects are nested more deeply than Python's stack allows. "
            f"{DOCUMENT_LEVELS.advice}"
        ) from None


@dataclass(slots=True)
class Limit:
    """A limit shared by saving and reading.

    Attributes:
      maximum: the largest allowed number.
      bounds: name of the counted things; the error shows it after the number.
      advice: how to save the object differently, as a sentence.
    """

    maximum: int
    bounds: str
    advice: str

    def check(self, count: int) -> None:
        """Checks a number against the limit.

        Raises:
          UnsavableError: if `count` exceeds the limit.
        """
        if count > self.maximum:
            text = f"{count:,} {self.bounds}; the limit is {self.maximum:,}."
            raise UnsavableError(text, self.advice)


ARRAYS = Limit(1_000_000, "arrays in one file", "Split the object, and save each part to its own file.")
NAME_BYTES = Limit(
    65_000, "bytes in the name of an array", "Use shorter keys and attribute names, or nest less deeply."
)
"""A name in a zip archive has 65,535 bytes at most. Source: PKWARE, APPNOTE.TXT 4.4.10."""

AXES = Limit(64, "axes of one array", "Reshape the value before you save it.")
"""NumPy 2 has 64 axes at most; `import nbtf` needs NumPy 2."""

TEXT_BYTES = Limit(999_999_999, "bytes in one string", "Save the string to its own file.")
"""NumPy stores each string of an array in as many bytes as the longest one needs."""

DOCUMENT_BYTES = Limit(
    64 * 2**20,
    "bytes of JSON",
    "Set a large vocabulary with `set_vocabulary` after loading. Or split the object, and save each part.",
)
"""A vocabulary of 1,500,000 words has about 30 MiB; 100,000 variables of a checkpoint have about 12 MiB."""

DOCUMENT_LEVELS = Limit(
    200, "levels of nested lists and dictionaries", "Nest less deeply: put the inner layers into one flat model."
)
"""A model inside a model adds 3 levels of JSON and 6 frames to Python's stack of 1,000."""

OBJECT_LEVELS = Limit(120, "levels of nested objects", "Nest less deeply: keep the objects in one list.")
"""An object, a list or a tuple inside another one adds up to 5 frames to Python's stack of 1,000."""

SWELLING = Limit(16, "bytes for each byte of the archive", "Save the file again with nbtf, which does not compress.")
"""nbtf writes archives without compression; trained weights that another program compressed give 1.1."""

INDEX_BYTES = Limit(2**26, "bytes in the index or the object graph of a checkpoint", "Split the checkpoint.")
"""The graph needs about 100 bytes for each variable, the index about 30."""

OBJECTS = Limit(4_000_000, "objects in one checkpoint", "Split the checkpoint.")
"""Variables, and the objects that lead to them."""

CATALOGUE_BYTES = Limit(2**24, "bytes in one translation catalogue", "Split the notebook.")
