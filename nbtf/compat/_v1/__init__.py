"""`tf.compat.v1`: TensorFlow 1, graphs and sessions.

Ops run eagerly, as in TensorFlow 2, unless graphs are switched on. `disable_eager_execution` and `disable_v2_behavior`
switch all of `tf`, `with tf.Graph().as_default()` switches a block, and a program's own `import nbtf.compat.v1 as tf`
switches only the names of this module. Functions that take `name` use it as the name, or name prefix, of their nodes.

>>> graph = tf.Graph()
>>> with graph.as_default():
...     c = tf.constant(1.0) + tf.constant(2.0)
>>> tf.compat.v1.Session(graph=graph).run(c)
np.float32(3.0)
"""

from __future__ import annotations

from importlib import import_module as _import_module
from typing import Any as _Any

from nbtf.version import VERSION as _VERSION

_V1 = "nbtf.compat._v1."
_GRAPHS = f"{_V1}_graph.graph"
"""The file that must be loaded before the first graph is created, because it loads the abilities of graphs."""

_SWITCHED = frozenset({"TensorShape", "Variable"})
"""Names that are looked up on every access, because `tf.runtime.restart` can change their values without a switch."""

_KEPT = set[str]()
"""Names that have been looked up; they stay in the module's namespace until the next switch.

They shadow builtins such as `print` and `range` in this file, which therefore uses none of those.
"""


def forget() -> None:
    """Discards all cached names after a switch, so that they are looked up again."""
    for name in _KEPT:
        globals().pop(name, None)
    _KEPT.clear()


def module_of(name: str) -> _Any:
    """Returns the module or namespace for an import such as `import nbtf.compat.v1.train`.

    Args:
      name: full name of the module.

    Raises:
      ModuleNotFoundError: if there is no such module.
    """
    _import_module(_GRAPHS)
    inside = name.removeprefix("nbtf.compat.v1.")
    try:
        return _import_module(_V1 + inside)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{_V1}{inside}.".startswith(f"{error.name}."):
            raise  # the module exists, but a package that it imports does not
    from nbtf.compat._v1._surface.names import WRAPPED_NAMESPACES

    namespace = __getattr__(inside) if inside in WRAPPED_NAMESPACES else None
    if namespace is None:
        raise ModuleNotFoundError(f"No module named '{name}'", name=name)
    return namespace


def __getattr__(name: str) -> _Any:
    if name in ("VERSION", "__version__"):
        return _VERSION
    if name.startswith("_"):
        raise AttributeError(f"module 'nbtf.compat.v1' has no attribute '{name}'")
    _import_module(_GRAPHS)
    from nbtf.compat._v1._surface import lookup

    value = lookup.find(name)
    if name in _SWITCHED:
        return value
    _KEPT.add(name)
    return globals().setdefault(name, value)


def __dir__() -> list[str]:
    from nbtf.compat._v1._surface import lookup

    return lookup.offered()
