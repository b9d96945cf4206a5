"""How does a TensorFlow notebook reach nbtf unchanged? Runs inside its kernel, before the first cell.

`import tensorflow as tf`, `from tensorflow.keras import layers` and `import tensorflow.compat.v1 as tf` find nbtf's
modules. What would change the computer (`!pip install ...`) or is Colab's alone (`%tensorflow_version`) is left out,
and told.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

# An output of this kind is no output of the cell: it says what was left out of it.
LEFT_OUT = "application/vnd.nbtf.left-out"
# How the message of every name ends that TensorFlow has and nbtf has not.
MISSING = " is not in nbtf yet"
LINE_MAGICS = ("tensorflow_version", "pip", "conda")
CELL_MAGICS = ("bash", "sh", "shell", "script", "system", "sx")


def install(shell: Any) -> None:
    """Redirects TensorFlow's names in this process and leaves out shell commands of this IPython shell."""
    if not any(isinstance(finder, TensorFlowFinder) for finder in sys.meta_path):
        sys.meta_path.insert(0, TensorFlowFinder())
    leave_out_commands(shell)


class TensorFlowFinder(MetaPathFinder, Loader):
    """Answers every import of `tensorflow` or of a module in it with nbtf's."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Claims TensorFlow's names, also where TensorFlow is installed."""
        return ModuleSpec(fullname, self) if fullname.split(".")[0] == "tensorflow" else None

    def create_module(self, spec: ModuleSpec) -> None:
        """Leaves it to the import system to make a module, which `exec_module` then replaces."""

    def exec_module(self, module: ModuleType) -> None:
        """Puts nbtf's module in the place of the empty one."""
        ours = counterpart(module.__name__)
        if not hasattr(ours, "__path__"):
            ours.__path__ = []  # what TensorFlow has as a package may be a plain module here, with names for modules
        sys.modules[module.__name__] = ours


def counterpart(name: str) -> ModuleType:
    """Returns nbtf's module, or namespace, for one of TensorFlow's.

    Raises:
      ModuleNotFoundError: nbtf has none, in the words of a notebook: `tf.keras is not in nbtf yet`.
    """
    ours = "nbtf" + name.removeprefix("tensorflow")
    try:
        return importlib.import_module(ours)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{ours}.".startswith(f"{error.name}."):
            raise  # a package that nbtf's module needs
    parent, _, child = ours.rpartition(".")
    found = getattr(sys.modules[parent], child, None)
    if found is None:
        raise ModuleNotFoundError(f"tf{ours.removeprefix('nbtf')}{MISSING}", name=name)
    return found


def leave_out_commands(shell: Any) -> None:
    """Makes shell lines, shell cells and Colab's magics of an IPython shell say that they were left out."""

    def tell(line: str) -> None:
        shell.display_pub.publish({LEFT_OUT: line}, {})

    def told_output(command: str, *rest: Any, **options: Any) -> list[str]:
        tell(f"!{command}")
        return []

    shell.system = told_output
    shell.getoutput = told_output
    for name in LINE_MAGICS:
        shell.register_magic_function(_line_magic(name, tell), "line", name)
    for name in CELL_MAGICS:
        shell.register_magic_function(_cell_magic(name, tell), "line_cell", name)


def _line_magic(name: str, tell: Callable[[str], None]) -> Callable[[str], None]:
    return lambda line: tell(f"%{name} {line}".rstrip())


def _cell_magic(name: str, tell: Callable[[str], None]) -> Callable[..., None]:
    def magic(line: str, cell: str | None = None) -> None:
        tell(f"{'%' if cell is None else '%%'}{name} {line}".rstrip())

    return magic
