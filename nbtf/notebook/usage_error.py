"""Which error does a wrong option raise? IPython's, which a notebook shows as one line; without IPython, our own."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:

    class UsageError(Exception):
        """A magic, or its function, was called with words that it cannot read."""

else:
    try:
        from IPython.core.error import UsageError as UsageError
    except ModuleNotFoundError:

        class UsageError(Exception):
            """A magic's function was called with words that it cannot read."""
