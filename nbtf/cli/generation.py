"""Which TensorFlow was a notebook written for, 1 or 2? Its names tell."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from nbtf._missing import IN_TENSORFLOW_1_ALONE

_IN_NAMESPACES = frozenset(
    "contrib nn.dynamic_rnn nn.rnn_cell summary.FileWriter train.AdamOptimizer train.AdagradOptimizer "
    "train.GradientDescentOptimizer train.MomentumOptimizer train.RMSPropOptimizer train.MonitoredTrainingSession "
    "train.Saver".split()
)
"""Names that only TensorFlow 1 has, other than those of its root."""


def name_of_tensorflow_1(sources: Iterable[str]) -> str | None:
    """Returns a name that only TensorFlow 1 has, and that a program takes from `import tensorflow`: `tf.Session`.

    Args:
      sources: its cells. What is not Python, such as lines of magics, is passed over.

    Returns:
      The name as the program writes it; None if there is none, or the program says `compat.v1` or the like itself.
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
    roots -= {alias for name, alias in imports if name != "tensorflow"}  # `import tensorflow.compat.v1 as tf`, too
    roots -= {alias.asname or alias.name for node in nodes if isinstance(node, ast.ImportFrom) for alias in node.names}
    dotted = (_dotted(node) for node in nodes if isinstance(node, ast.Attribute))
    return next((name for name in dotted if name is not None and _is_old(name, roots)), None)


def _is_old(dotted: str, roots: set[str]) -> bool:
    root, _, name = dotted.partition(".")
    return root in roots and (name in IN_TENSORFLOW_1_ALONE or name in _IN_NAMESPACES)


def _dotted(node: ast.expr) -> str | None:
    """Returns `tf.train.Saver` for the expression of that text."""
    if isinstance(node, ast.Name):
        return node.id
    outer = _dotted(node.value) if isinstance(node, ast.Attribute) else None
    return None if outer is None or not isinstance(node, ast.Attribute) else f"{outer}.{node.attr}"


def _trees(source: str) -> Iterator[ast.Module]:
    """Yields the Python of a cell; without its lines of magics, which leave an empty statement."""
    lines = source.split("\n")
    if lines[0].startswith("%%"):
        lines = lines[1:]
    plain = [
        line[: len(line) - len(line.lstrip())] + "pass" if line.lstrip()[:1] in ("!", "%") else line for line in lines
    ]
    try:
        yield ast.parse("\n".join(plain))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return  # Python 2, or no Python: the cell itself will say so
