"""The error for a file that is damaged or requests more than reading allows."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from nbtf.errors import DataLossError, ResourceExhaustedError


class RefusedFileError(DataLossError, ValueError, TypeError):
    """Raised if a file is damaged, or names a class or function that it may not name.

    Programs catch `tf.errors.DataLossError`; those written for Keras catch a `ValueError` or a `TypeError`.
    """


@contextmanager
def refusing(source: object, verdict: str = "is damaged") -> Generator[None]:
    """Turns any error about a file's content, from a parser or a constructor, into a `RefusedFileError`.

    Args:
      source: the file that the message names.
      verdict: text of the message before the original error's text.

    Raises:
      RefusedFileError: if the block raised an error; the message names the file, then gives that error's text.
    """
    try:
        yield
    except (RefusedFileError, MemoryError, ResourceExhaustedError):
        raise
    except Exception as error:  # zipfile alone raises nine classes about a damaged file
        text = str(error) if isinstance(error, ValueError | TypeError) else f"{type(error).__name__}: {error}"
        raise RefusedFileError(f"{source} {verdict}: {text}") from error
