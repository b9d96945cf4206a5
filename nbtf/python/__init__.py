"""`tensorflow.python`: counterparts of the TensorFlow internals that programs import.

>>> from nbtf.python.client import device_lib
>>> [device.name for device in device_lib.list_local_devices()]
['/device:CPU:0']
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import cast

from nbtf._as_tensorflow.aliases import ALIASES, PACKAGES, aliased
from nbtf._runtime.aliases import AliasFinder
from nbtf.compat import _v1

_COUNTERPARTS = {
    "client.device_lib": "nbtf.compat._v1.device_lib",
    "client.session": "nbtf.compat._v1",
    "data": "nbtf.data",
    "distribute.parameter_server_strategy_v2": "nbtf.distribute.workers",
    "eager.context": "nbtf.compat._v1.context",
    "framework.constant_op": "nbtf",
    "framework.dtypes": "nbtf.dtypes",
    "framework.errors": "nbtf.errors",
    "framework.errors_impl": "nbtf.errors",
    "framework.ops": "nbtf.compat._v1",
    "framework.random_seed": "nbtf.compat._v1",
    "keras": "nbtf.keras",
    "ops.array_ops": "nbtf.compat._v1",
    "ops.control_flow_ops": "nbtf.compat._v1",
    "ops.init_ops": "nbtf.compat._v1",
    "ops.math_ops": "nbtf.compat._v1",
    "ops.nn": "nbtf.compat._v1.nn",
    "ops.nn_ops": "nbtf.compat._v1.nn",
    "ops.random_ops": "nbtf.compat._v1",
    "ops.variable_scope": "nbtf.compat._v1",
    "ops.variables": "nbtf.compat._v1",
    "platform.app": "nbtf.compat._v1.app",
    "platform.flags": "nbtf.compat._v1.flags",
    "platform.gfile": "nbtf.compat._v1.gfile",
    "platform.tf_logging": "nbtf.compat._v1.logging",
    "training": "nbtf.compat._v1.train",
    "util.nest": "nbtf.nest",
}
"""Modules of `tensorflow.python`, and the nbtf modules that provide their names."""

_PACKAGES = frozenset(name.rpartition(".")[0] for name in _COUNTERPARTS if "." in name)


def module_of(name: str) -> ModuleType:
    """Returns the module for an import from `nbtf.python`.

    Args:
      name: full name of the module.

    Raises:
      ModuleNotFoundError: if the module has no counterpart in nbtf.
    """
    inside = name.removeprefix(f"{__name__}.")
    if f"python.{inside}" in ALIASES:
        return cast("ModuleType", aliased(f"python.{inside}"))
    if inside in _PACKAGES or f"python.{inside}" in PACKAGES:
        return ModuleType(name, f"`tensorflow.python.{inside}`: the parts that nbtf provides.")
    head = next((head for head in _COUNTERPARTS if f"{inside}.".startswith(f"{head}.")), None)
    counterpart = None if head is None else module_named(_COUNTERPARTS[head] + inside.removeprefix(head))
    if counterpart is None:
        raise ModuleNotFoundError(f"No module named '{name}'", name=name)
    return counterpart


def module_named(name: str) -> ModuleType | None:
    """Returns an nbtf module, or a namespace inside one, by its full name; None if it does not exist.

    Args:
      name: below `nbtf.compat._v1`, this may be a namespace that exists only for building graphs, such as `nn`.
    """
    if name.startswith("nbtf.compat._v1."):
        try:
            return _v1.module_of(name.replace("._v1", ".v1"))
        except ModuleNotFoundError as error:
            if error.name is None or not f"{name.replace('._v1', '.v1')}.".startswith(f"{error.name}."):
                raise  # the module exists, but a package that it imports does not
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise  # the module exists, but a package that it imports does not
    parent, _, child = name.rpartition(".")
    return getattr(sys.modules.get(parent), child, None)


AliasFinder(f"{__name__}.", module_of).install()
