"""`tf.compat.v1`: TensorFlow 1, graphs and sessions. `import nbtf.compat.v1 as tf` is the whole of it.

Functions reached through here build the default graph, which a session runs; `nbtf` itself stays eager.

>>> import nbtf.compat.v1 as tf1
>>> c = tf1.constant(1.0) + tf1.constant(2.0)
>>> c.op.type
'AddV2'
>>> with tf1.Session() as sess:
...     print(sess.run(c))
3.0
"""

from __future__ import annotations

import sys as _sys
from importlib import import_module as _import_module
from typing import Any as _Any

_V1 = "nbtf.compat.v1."

_FROM = {
    # graphs
    "DeviceSpec": "_graph.device_spec",
    "Graph": "_graph.graph",
    "Operation": "_graph.operation",
    "colocate_with": "_graph.defaults",
    "constant": "_graph.defaults",
    "control_dependencies": "_graph.defaults",
    "device": "_graph.defaults",
    "get_default_graph": "_graph.defaults",
    "name_scope": "_graph.defaults",
    "no_op": "_graph.defaults",
    "placeholder": "_graph.defaults",
    "reset_default_graph": "_graph.defaults",
    # sessions
    "ConfigProto": "_config.config_proto",
    "GPUOptions": "_config.config_proto",
    "GraphOptions": "_config.config_proto",
    "OptimizerOptions": "_config.config_proto",
    "RunMetadata": "_config.run_options",
    "RunOptions": "_config.run_options",
    "Session": "_session.session",
    "get_default_session": "_session.defaults",
    # variables
    "GraphKeys": "_variables.keys",
    "Variable": "_variables.kinds",
    "all_variables": "_variables.initializing",
    "assert_variables_initialized": "_variables.initializing",
    "assign": "_variables.assigning",
    "assign_add": "_variables.assigning",
    "assign_sub": "_variables.assigning",
    "disable_resource_variables": "_variables.initializing",
    "enable_resource_variables": "_variables.initializing",
    "global_variables": "_variables.initializing",
    "global_variables_initializer": "_variables.initializing",
    "initialize_all_variables": "_variables.initializing",
    "initialize_local_variables": "_variables.initializing",
    "initialize_variables": "_variables.initializing",
    "is_variable_initialized": "_variables.initializing",
    "local_variables": "_variables.initializing",
    "local_variables_initializer": "_variables.initializing",
    "model_variables": "_variables.initializing",
    "moving_average_variables": "_variables.initializing",
    "report_uninitialized_variables": "_variables.initializing",
    "resource_variables_enabled": "_variables.initializing",
    "scatter_add": "_variables.assigning",
    "scatter_nd_add": "_variables.assigning",
    "scatter_nd_sub": "_variables.assigning",
    "scatter_nd_update": "_variables.assigning",
    "scatter_sub": "_variables.assigning",
    "scatter_update": "_variables.assigning",
    "tables_initializer": "_variables.initializing",
    "trainable_variables": "_variables.initializing",
    "variables_initializer": "_variables.initializing",
    # settings of the process
    "Dimension": "_graph.dimension",
    "dimension_at_index": "_graph.dimension",
    "dimension_value": "_graph.dimension",
    "disable_eager_execution": "_surface.switches",
    "disable_tensor_equality": "_surface.switches",
    "disable_v2_behavior": "_surface.switches",
    "disable_v2_tensorshape": "_surface.switches",
    "enable_eager_execution": "_surface.switches",
    "enable_tensor_equality": "_surface.switches",
    "enable_v2_behavior": "_surface.switches",
    "enable_v2_tensorshape": "_surface.switches",
    "executing_eagerly": "_surface.switches",
}
"""Names of TensorFlow 1, and the files they come from."""

_NAMESPACES = frozenset[str]()
"""Namespaces that are modules here: `nbtf/compat/v1/train` and the like."""

_WRAPPED_NAMESPACES: dict[str, dict[str, str]] = {
    "bitwise": {},
    "image": {},
    "io": {},
    "linalg": {},
    "math": {},
    "nn": {},
    "ragged": {},
    "random": {},
    "raw_ops": {},
    "sparse": {},
    "strings": {},
    "train": {},
}
"""Namespaces of `nbtf` whose functions build graphs here, and what TensorFlow 1 has in them besides."""


def own_version(name: str, value: _Any) -> _Any:
    """Returns what `compat.v1` offers for a public function of `nbtf`: its own of that name, or a wrapped one.

    Args:
      name: the function's name; `tf.math.add` and `tf.add` are one function.
      value: what `nbtf` has under it; what is no function comes back as it is.
    """
    import nbtf
    from nbtf.compat.v1._surface.wrapping import wrapped

    if name in _FROM and getattr(nbtf, name, None) is value:
        return getattr(_sys.modules[__name__], name)
    return wrapped(value)


_EAGER = frozenset({"Variable", "constant", "control_dependencies", "device", "name_scope", "no_op"})
"""Names for which the eager ones of `nbtf` stand after `enable_eager_execution`."""

_KEPT = set[str]()
"""Names that were fetched, and stand in the module's own namespace until something is switched."""


def forget() -> None:
    """Fetches all names again: something was switched."""
    for name in _KEPT:
        globals().pop(name, None)
    _KEPT.clear()


def _found(name: str) -> _Any:
    import nbtf
    from nbtf.compat.v1._graph.process import process

    now = process()
    if name == "TensorShape" and not now.v2_shapes:
        from nbtf.compat.v1._graph.dimension import DimensionedShape

        return DimensionedShape
    if name in _FROM and not (now.eager and name in _EAGER and hasattr(nbtf, name)):
        return getattr(_import_module(_V1 + _FROM[name]), name)
    if name in _NAMESPACES:
        return _import_module(_V1 + name)
    if name in _WRAPPED_NAMESPACES:
        from nbtf.compat.v1._surface.wrapping import Namespace

        return Namespace(name, _sys.modules[__name__], _WRAPPED_NAMESPACES[name])
    try:
        value = getattr(nbtf, name)
    except AttributeError:
        raise AttributeError(f"module 'nbtf.compat.v1' has no attribute '{name}'") from None
    return own_version(name, value)


def __getattr__(name: str) -> _Any:
    if name.startswith("_"):
        raise AttributeError(f"module 'nbtf.compat.v1' has no attribute '{name}'")
    value = _found(name)
    _KEPT.add(name)
    return globals().setdefault(name, value)


def __dir__() -> list[str]:
    import nbtf

    return sorted({*_FROM, *_NAMESPACES, *_WRAPPED_NAMESPACES, *dir(nbtf)})
