"""Which settings of the TensorFlow compilers are accepted? They are stored and returned, without effect."""

from __future__ import annotations

from typing import Any

from nbtf._runtime.arguments import check_has
from nbtf._runtime.context import CURRENT


class optimizer:  # noqa: N801  # TensorFlow's name
    """`tf.config.optimizer`: settings of the TensorFlow compilers. nbtf compiles nothing, so they change no result.

    >>> tf.config.optimizer.set_jit(True)
    """

    @staticmethod
    def set_jit(enabled: bool | str) -> None:
        """Stores whether graphs may be compiled by XLA.

        Args:
          enabled: `"autoclustering"` or True; anything else means no.

        >>> tf.config.optimizer.set_jit("autoclustering")
        >>> tf.config.optimizer.get_jit()
        'autoclustering'
        """
        CURRENT.context.change(jit="autoclustering" if enabled in (True, "autoclustering") else "")

    @staticmethod
    def get_jit() -> str:
        """Returns `"autoclustering"`, or an empty string if it was not enabled.

        >>> tf.config.optimizer.get_jit()
        ''
        """
        return CURRENT.context.settings.jit

    @staticmethod
    def set_experimental_options(options: dict[str, Any]) -> None:
        """Stores options of the graph optimizer, without effect. Names that TensorFlow does not have are ignored.

        Args:
          options: names and Boolean values, such as `{"layout_optimizer": False}`.

        Raises:
          TypeError: if `options` is not a dict.

        >>> tf.config.optimizer.set_experimental_options({"constant_folding": False})
        >>> tf.config.optimizer.get_experimental_options()["constant_folding"]
        False
        """
        check_has(options, "keys", "options", "a dictionary of names and Boolean values")
        options_set = dict(CURRENT.context.settings.optimizer_options)
        options_set |= {name: bool(options[name]) for name in _OPTIMIZER_OPTIONS if options.get(name) is not None}
        CURRENT.context.change(optimizer_options=tuple(options_set.items()))

    @staticmethod
    def get_experimental_options() -> dict[str, Any]:
        """Returns the options that were set, and two that TensorFlow always includes.

        >>> tf.config.optimizer.get_experimental_options()
        {'disable_model_pruning': False, 'disable_meta_optimizer': False}
        """
        options_set = dict(CURRENT.context.settings.optimizer_options)
        return {
            n: options_set.get(n, False) for n in _OPTIMIZER_OPTIONS if n in options_set or n.startswith("disable_m")
        }


# Source: context.py of TensorFlow 2.21, get_optimizer_experimental_options.
_OPTIMIZER_OPTIONS = (
    "layout_optimizer",
    "constant_folding",
    "shape_optimization",
    "remapping",
    "arithmetic_optimization",
    "dependency_optimization",
    "loop_optimization",
    "function_optimization",
    "debug_stripper",
    "disable_model_pruning",
    "scoped_allocator_optimization",
    "pin_to_host_optimization",
    "implementation_selector",
    "auto_mixed_precision",
    "use_plugin_optimizers",
    "disable_meta_optimizer",
)
