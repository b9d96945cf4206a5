"""How does a TensorFlow notebook reach nbtf unchanged? Runs inside its kernel, before the first cell.

`import tensorflow as tf`, `from tensorflow.keras import layers` and `import tensorflow.compat.v1 as tf` find nbtf's
modules, and `import keras` loads the real Keras on nbtf. Commands that would change the computer (`!pip install ...`)
and magics that exist only in Colab (`%tensorflow_version`) are left out and reported.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from nbtf._as_tensorflow.presentation import present_as_tensorflow
from nbtf.cli.execution import LEFT_OUT

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
    present_as_tensorflow(tensorflow_1)
    leave_out_commands(shell)


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
