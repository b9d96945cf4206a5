"""Was a notebook written for TensorFlow 1 or 2? The names it uses show it."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from nbtf._missing import IN_TENSORFLOW_1_ALONE

_IN_NAMESPACES = frozenset(
    "contrib nn.dynamic_rnn nn.rnn_cell summary.FileWriter train.AdamOptimizer train.AdagradOptimizer "
    "train.GradientDescentOptimizer train.MomentumOptimizer train.RMSPropOptimizer train.MonitoredTrainingSession "
    "train.Saver".split()
)
"""Names that only TensorFlow 1 has, apart from those at its top level."""


def name_of_tensorflow_1(sources: Iterable[str]) -> str | None:
    """Returns a name that only TensorFlow 1 has and that a program uses through `import tensorflow`: `tf.Session`.

    Args:
      sources: the program's cells. Lines that are not Python, such as magics, are ignored.

    Returns:
      The name as the program writes it; None if there is none, or if the program itself requests `compat.v1`.
    """
    trees = [tree for source in sources for tree in _trees(source)]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    imports = [
        (alias.name, alias.asname or alias.name)
        for node in nodes
        if isinstance(node, ast.Import)
        for alias in node.names
    ]
    roots = {alias for name, alias in imports if name == "tensorflow"}
    roots -= {alias for name, alias in imports if name != "tensorflow"}  # including `import tensorflow.compat.v1 as tf`
    roots -= {alias.asname or alias.name for node in nodes if isinstance(node, ast.ImportFrom) for alias in node.names}
    dotted = (_dotted(node) for node in nodes if isinstance(node, ast.Attribute))
    return next((name for name in dotted if name is not None and _is_old(name, roots)), None)


def _is_old(dotted: str, roots: set[str]) -> bool:
    root, _, name = dotted.partition(".")
    return root in roots and (name in IN_TENSORFLOW_1_ALONE or name in _IN_NAMESPACES)


def _dotted(node: ast.expr) -> str | None:
    """Returns `tf.train.Saver` for the corresponding expression."""
    if isinstance(node, ast.Name):
        return node.id
    outer = _dotted(node.value) if isinstance(node, ast.Attribute) else None
    return None if outer is None or not isinstance(node, ast.Attribute) else f"{outer}.{node.attr}"


def _trees(source: str) -> Iterator[ast.Module]:
    """Yields the syntax trees of a cell, with lines of magics replaced by an empty statement."""
    lines = source.split("\n")
    if lines[0].startswith("%%"):
        lines = lines[1:]
    plain = [
        line[: len(line) - len(line.lstrip())] + "pass" if line.lstrip()[:1] in ("!", "%") else line for line in lines
    ]
    try:
        yield ast.parse("\n".join(plain))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return  # Python 2, or not Python at all: running the cell will show it
