"""Runs IPython's shell in the test process and removes every trace of it afterwards."""

from __future__ import annotations

import atexit
import builtins
import sys
from collections.abc import Generator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

OLD_IPYTHON = version("ipython").startswith("7.")  # Colab's
NO_COLOURS = "NoColor" if OLD_IPYTHON else "nocolor"


@contextmanager
def interactive_shell(folder: Path) -> Generator[Any]:
    """Yields the shell that `get_ipython()` returns during the block.

    Args:
      folder: folder for the shell's own files.
    """
    from IPython.core import async_helpers
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    with pytest.MonkeyPatch.context() as patches:
        patches.setenv("IPYTHONDIR", str(folder))
        patches.setitem(sys.modules, "__main__", sys.modules["__main__"])  # the shell replaces it
        patches.delattr(builtins, "_", raising=False)  # set by doctests; IPython would then not set the user's `_`
        before = set(vars(builtins))
        config = Config({"HistoryManager": {"enabled": False}, "InteractiveShell": {"colors": NO_COLOURS}})
        InteractiveShell.clear_instance()
        shell = InteractiveShell.instance(config=config)
        yield shell
        shell.reset(new_session=False)
        atexit.unregister(shell.atexit_operations)  # otherwise every shell is kept, and reset when Python exits
        InteractiveShell.clear_instance()
        if not OLD_IPYTHON:  # an old IPython uses the event loop of the whole process
            async_helpers.get_asyncio_loop().close()  # cells with `await` ran in it
        for name in set(vars(builtins)) - before:  # IPython leaves a name there that the placement log looks for
            delattr(builtins, name)
