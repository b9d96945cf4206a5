"""Switches that programs set at startup: graphs or eager execution, shapes, equality, and the kind of variables."""

from __future__ import annotations

from functools import partial
from importlib import import_module
from typing import Any

from nbtf._runtime.context import CURRENT
from nbtf.compat._v1._config.config_proto import ConfigProto
from nbtf.compat._v1._graph.defaults import building, get_default_graph
from nbtf.compat._v1._graph.process import process
from nbtf.compat._v1._surface.everywhere import PROGRAM, build_everywhere

# Source: contrib/eager of TensorFlow 1.15, which uses numbers for the policies of `tf.config.experimental`.
_POLICIES = ("explicit", "warn", "silent", "silent_for_int32")


def executing_eagerly() -> bool:
    """Returns whether ops of `compat.v1` run eagerly.

    Returns:
      True until graphs are switched on; False if the program itself imported `nbtf.compat.v1`.

    >>> tf.compat.v1.executing_eagerly()
    True
    >>> import nbtf.compat.v1 as tf1
    >>> tf1.executing_eagerly()
    False
    """
    return building() is None


executing_eagerly_outside_functions = executing_eagerly


def enable_eager_execution(
    config: ConfigProto | None = None, device_policy: int | None = None, execution_mode: Any = None
) -> None:
    """Makes ops of `compat.v1` run eagerly, for the rest of the process or until `tf.runtime.restart`.

    Args:
      config: session configuration, of which only `log_device_placement` and `gpu_options.allow_growth` take effect.
      device_policy: treatment of tensors on a different device from their op: 0 raises an error, 1 warns, 2 copies
        silently, 3 copies only int32 tensors.
      execution_mode: accepted and ignored; ops run one after the other.

    Raises:
      TypeError: if `config` is not a `ConfigProto`.
      ValueError: if the default graph has nodes, or the policy is unknown.
    """
    if config is not None and not isinstance(config, ConfigProto):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"config must be a tf.ConfigProto, but got {type(config)}")
    if device_policy is not None and device_policy not in range(len(_POLICIES)):
        raise ValueError("device_policy must be one of None, DEVICE_PLACEMENT_*")
    now = process()
    if not now.eager and now.graph is not None and now.graph.version:
        raise ValueError("tf.enable_eager_execution must be called at program startup.")
    if device_policy is not None:
        CURRENT.context.change(device_policy=_POLICIES[device_policy])
    if config is not None:
        _apply(config)
    now.eager = True
    CURRENT.context.default_graph = None
    build_everywhere(PROGRAM, asks=False)
    _forget_names()


def _apply(config: ConfigProto) -> None:
    """Applies the settings that also exist for eager execution."""
    from nbtf import config as devices
    from nbtf import debugging

    if config.log_device_placement:
        debugging.set_log_device_placement(True)
    if config.gpu_options.allow_growth:
        for gpu in devices.list_physical_devices("GPU"):
            devices.experimental.set_memory_growth(gpu, True)


def disable_eager_execution() -> None:
    """Makes all ops of `tf` build graphs, for the rest of the process or until `tf.runtime.restart`.

    >>> tf.compat.v1.disable_eager_execution()
    >>> tf.executing_eagerly()
    False
    """
    process().eager = False
    CURRENT.context.default_graph = get_default_graph
    CURRENT.context.endings.append(partial(build_everywhere, PROGRAM, asks=False))
    build_everywhere(PROGRAM, asks=True)
    _forget_names()


def enable_v2_behavior() -> None:
    """Switches `compat.v1` to TensorFlow 2's behaviour: eager ops, its shapes, its equality, its variables.

    Raises:
      ValueError: if the default graph has nodes.
    """
    enable_eager_execution()
    enable_v2_tensorshape()
    process().resource_variables = True


def disable_v2_behavior() -> None:
    """Switches `compat.v1` to TensorFlow 1's behaviour: graphs, shapes of `Dimension`, and equality by identity."""
    disable_eager_execution()
    disable_v2_tensorshape()
    process().resource_variables = False


def enable_v2_tensorshape() -> None:
    """Represents lengths in the shapes of graph tensors as plain numbers or None."""
    process().v2_shapes = True
    _forget_names()


def disable_v2_tensorshape() -> None:
    """Represents lengths in the shapes of graph tensors as `Dimension` objects, as in TensorFlow 1."""
    process().v2_shapes = False
    _forget_names()


def enable_tensor_equality() -> None:
    """Does nothing: `==` compares eager tensors by element, and graph tensors by identity."""


disable_tensor_equality = enable_tensor_equality


def enable_control_flow_v2() -> None:
    """Does nothing, because `tf.cond` and `tf.while_loop` always add a single node."""


disable_control_flow_v2 = enable_control_flow_v2


def control_flow_v2_enabled() -> bool:
    """Returns True, because `tf.cond` and `tf.while_loop` always add a single node."""
    return True


def _forget_names() -> None:
    import_module("nbtf.compat._v1").forget()
