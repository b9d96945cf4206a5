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

import sys as _sys
from importlib import import_module as _import_module
from typing import Any as _Any

from nbtf._missing import of_tensorflow_1 as _missing_of_tensorflow_1

_V1 = "nbtf.compat._v1."


def own_version(name: str, value: _Any) -> _Any:
    """Returns the `compat.v1` version of a public `nbtf` function: a separate implementation, or a wrapper.

    Args:
      name: name of the function; `tf.math.add` and `tf.add` are the same function.
      value: the `nbtf` object with that name; anything but a function is returned unchanged.
    """
    import nbtf
    from nbtf.compat._v1._surface.names import FROM
    from nbtf.compat._v1._surface.table import ROWS
    from nbtf.compat._v1._surface.wrapping import eager, wrapped

    if (name in FROM or name in ROWS) and eager(getattr(nbtf, name, value)) is eager(value):
        return getattr(_sys.modules[__name__], name)
    return wrapped(value)


_EAGER = frozenset({"Variable"})
"""Names that resolve to the eager `nbtf` functions after `enable_eager_execution`, outside graphs."""

_OTHERWISE = frozenset({"metrics"})
"""Names of `nbtf` that mean something else in TensorFlow 1, which nbtf does not have."""

_SWITCHED = _EAGER | {"TensorShape"}
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


def _find(name: str) -> _Any:
    import nbtf
    from nbtf.compat._v1._graph.defaults import building
    from nbtf.compat._v1._graph.process import process
    from nbtf.compat._v1._surface import names
    from nbtf.compat._v1._surface.table import ROWS
    from nbtf.compat._v1._surface.wrapping import Namespace, tabled

    now = process()
    if name == "TensorShape" and not now.v2_shapes:
        from nbtf.compat._v1._graph.dimension import DimensionedShape

        return DimensionedShape
    if name in names.FROM and not (name in _EAGER and now.eager and building() is None and hasattr(nbtf, name)):
        module = names.FROM[name]
        return getattr(_import_module(module if module.startswith("nbtf.") else _V1 + module), name)
    if name in ROWS:
        return tabled(name)
    if name in names.NAMESPACES:
        return _import_module(_V1 + name)
    if name in names.WRAPPED_NAMESPACES:
        return Namespace(name, _sys.modules[__name__], names.WRAPPED_NAMESPACES[name])
    if name in names.MOVED:
        namespace, _, today = names.MOVED[name].partition(".")
        return own_version(name, getattr(_import_module(f"nbtf.{namespace}".rstrip(".")), today or name))
    try:
        if name in _OTHERWISE:
            raise AttributeError
        value = getattr(nbtf, name)
    except AttributeError:
        raise _missing_of_tensorflow_1(name) from None
    return value if name in names.FROM else own_version(name, value)


def module_of(name: str) -> _Any:
    """Returns the module or namespace for an import such as `import nbtf.compat.v1.train`.

    Args:
      name: full name of the module.

    Raises:
      ModuleNotFoundError: if there is no such module.
    """
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
        import nbtf

        return nbtf.__version__
    if name.startswith("_"):
        raise AttributeError(f"module 'nbtf.compat.v1' has no attribute '{name}'")
    value = _find(name)
    if name in _SWITCHED:
        return value
    _KEPT.add(name)
    return globals().setdefault(name, value)


def __dir__() -> list[str]:
    import nbtf
    from nbtf.compat._v1._surface import names
    from nbtf.compat._v1._surface.table import ROWS

    defined = [name for name in (*names.FROM, *ROWS) if "." not in name]
    return sorted({*defined, *names.MOVED, *names.NAMESPACES, *names.WRAPPED_NAMESPACES, *dir(nbtf)} - _OTHERWISE)
