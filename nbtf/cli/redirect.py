"""How does a TensorFlow notebook reach nbtf unchanged? Runs inside its kernel, before the first cell.

`import tensorflow as tf`, `from tensorflow.keras import layers` and `import tensorflow.compat.v1 as tf` find nbtf's
modules. Commands that would change the computer (`!pip install ...`) and magics that exist only in Colab
(`%tensorflow_version`) are left out and reported.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from types import ModuleType
from typing import Any

from nbtf._runtime.aliases import AliasFinder
from nbtf.cli.execution import LEFT_OUT

# The end of the message for every name that TensorFlow has and nbtf lacks.
MISSING = " is not in nbtf yet"
LINE_MAGICS = ("tensorflow_version", "pip", "conda")
CELL_MAGICS = ("bash", "sh", "shell", "script", "system", "sx")


def startup(tensorflow_1: bool = False) -> str:
    """Returns the code that redirects TensorFlow's names in a kernel.

    >>> startup()
    '__import__("nbtf.cli.redirect", fromlist=["install"]).install(get_ipython(), False)'
    """
    return f'__import__("nbtf.cli.redirect", fromlist=["install"]).install(get_ipython(), {tensorflow_1})'


def install(shell: Any, tensorflow_1: bool = False) -> None:
    """Redirects TensorFlow's names in this process, and leaves out shell commands in an IPython shell.

    Args:
      shell: the shell.
      tensorflow_1: whether `import tensorflow as tf` means TensorFlow 1, whose ops build the default graph.
    """
    if tensorflow_1:
        importlib.import_module("nbtf.compat.v1")  # this import switches to graphs
    AliasFinder("tensorflow", old_counterpart if tensorflow_1 else counterpart).install()
    leave_out_commands(shell)


def counterpart(name: str) -> ModuleType:
    """Returns nbtf's counterpart of a TensorFlow module or namespace.

    `tensorflow.compat.v1` is the namespace that stays eager until it is switched, as in TensorFlow 2, and
    `tensorflow.compat.v2` is `nbtf` itself.

    Raises:
      ModuleNotFoundError: if nbtf has none; the message uses the notebook's name: `tf.keras is not in nbtf yet`.
    """
    inside = name.removeprefix("tensorflow")
    if inside == ".compat":
        return _compat()
    module_name = f"nbtf{inside}.".replace("nbtf.compat.v2.", "nbtf.").replace("nbtf.compat.v1.", "nbtf.compat._v1.")
    return _import_module(module_name.rstrip("."), name)


def old_counterpart(name: str) -> ModuleType:
    """Returns the counterpart of a TensorFlow 1 module: `tensorflow` is `nbtf.compat.v1`.

    Raises:
      ModuleNotFoundError: if nbtf has none.
    """
    inside = name.removeprefix("tensorflow").removeprefix(".compat.v1")
    if inside.startswith((".compat", ".keras", ".python")):
        return counterpart(name)
    return _import_module(f"nbtf.compat._v1{inside}", name)


def _compat() -> ModuleType:
    """Returns `nbtf.compat` with TensorFlow's contents, so that `from tensorflow.compat import v1` works."""
    nbtf: Any = importlib.import_module("nbtf")
    compat: ModuleType = nbtf.compat
    vars(compat).update(v1=nbtf.compat.v1, v2=nbtf)
    return compat


def _import_module(module_name: str, name: str) -> ModuleType:
    module = importlib.import_module("nbtf.python").module_named(module_name)
    if module is None:
        raise ModuleNotFoundError(f"{name.replace('tensorflow', 'tf', 1)}{MISSING}", name=name)
    return module


def leave_out_commands(shell: Any) -> None:
    """Makes shell lines, shell cells and Colab's magics of an IPython shell report that they were left out."""

    def tell(line: str) -> None:
        shell.display_pub.publish({LEFT_OUT: line}, {})

    def announce_output(command: str, *args: Any, **options: Any) -> list[str]:
        tell(f"!{command}")
        return []

    shell.system = announce_output
    shell.getoutput = announce_output
    for name in LINE_MAGICS:
        shell.register_magic_function(_magic(name, tell), "line", name)
    for name in CELL_MAGICS:
        shell.register_magic_function(_magic(name, tell), "line_cell", name)


def _magic(name: str, tell: Callable[[str], None]) -> Callable[..., None]:
    def magic(line: str, cell: str | None = None) -> None:
        tell(f"{'%' if cell is None else '%%'}{name} {line}".rstrip())

    return magic
