"""What is raised about a file that is damaged, or asks for more than reading allows?"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from nbtf.errors import DataLossError, ResourceExhaustedError


class RefusedFileError(DataLossError, ValueError, TypeError):
    """A file is damaged, or asks for a class or a function that it may not name.

    Programs catch `tf.errors.DataLossError`; those written for Keras catch a `ValueError` or a `TypeError` here.
    """


@contextmanager
def refusing(source: object, verdict: str = "is damaged") -> Generator[None]:
    """Turns whatever a parser or a constructor raises about the content of a file into `RefusedFileError`.

    Args:
      source: the file, which the message names.
      verdict: what is said of it, before the text of the error.

    Raises:
      RefusedFileError: the block raised an error; this one names the file before that one's text.
    """
    try:
        yield
    except (RefusedFileError, MemoryError, ResourceExhaustedError):
        raise
    except Exception as error:  # zipfile alone raises nine classes about a damaged file
        text = str(error) if isinstance(error, ValueError | TypeError) else f"{type(error).__name__}: {error}"
        raise RefusedFileError(f"{source} {verdict}: {text}") from error
