"""IPython's shell in the process of the tests, of which nothing is left afterwards."""

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
    """What `get_ipython()` returns meanwhile.

    Args:
      folder: for what it keeps.
    """
    from IPython.core import async_helpers
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    with pytest.MonkeyPatch.context() as patches:
        patches.setenv("IPYTHONDIR", str(folder))
        patches.setitem(sys.modules, "__main__", sys.modules["__main__"])  # which becomes the shell's
        patches.delattr(builtins, "_", raising=False)  # a doctest leaves it, and IPython then gives users no `_`
        before = set(vars(builtins))
        config = Config({"HistoryManager": {"enabled": False}, "InteractiveShell": {"colors": NO_COLOURS}})
        InteractiveShell.clear_instance()
        shell = InteractiveShell.instance(config=config)
        yield shell
        shell.reset(new_session=False)
        atexit.unregister(shell.atexit_operations)  # else every shell stays, and is reset again when Python ends
        InteractiveShell.clear_instance()
        if not OLD_IPYTHON:  # whose loop is that of all programs of the process
            async_helpers.get_asyncio_loop().close()  # cells with `await` ran in it
        for name in set(vars(builtins)) - before:  # IPython leaves its mark there, by which the placement log knows it
            delattr(builtins, name)
