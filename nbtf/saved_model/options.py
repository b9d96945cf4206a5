"""Options of `save` and `load`, accepted so that programs run; none has an effect in nbtf."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(eq=False)
class SaveOptions:
    """Options of `tf.saved_model.save`; accepted, without effect. The format keeps classes, so gradients are kept.

    Args:
      namespace_whitelist: namespaces of custom ops.
      save_debug_info: whether to write graphs for debugging.
      function_aliases: alternative names of functions.
      experimental_debug_stripper: whether to leave out debugging ops.
      experimental_io_device: the device that writes the files.
      experimental_variable_policy: how to save variables of strategies; nbtf always saves each once.
      experimental_custom_gradients: whether to keep gradients of `tf.custom_gradient`; nbtf always does.
      experimental_image_format: whether to use another file format.
      experimental_skip_saver: whether to leave out functions for checkpoints.
      experimental_sharding_callback: how to spread values over files.
      extra_tags: additional tags.
    """

    namespace_whitelist: Sequence[str] | None = None
    save_debug_info: bool = False
    function_aliases: Any = None
    experimental_debug_stripper: bool = False
    experimental_io_device: str | None = None
    experimental_variable_policy: Any = None
    experimental_custom_gradients: bool = True
    experimental_image_format: bool = False
    experimental_skip_saver: bool = False
    experimental_sharding_callback: Any = None
    extra_tags: Any = None

    def __post_init__(self) -> None:
        """Replaces missing values by empty containers."""
        self.namespace_whitelist = list(self.namespace_whitelist or ())
        self.function_aliases = dict(self.function_aliases or {})


@dataclass(eq=False)
class LoadOptions:
    """Options of `tf.saved_model.load`; accepted, without effect.

    Args:
      allow_partial_checkpoint: whether values may be missing.
      experimental_io_device: the device that reads the files.
      experimental_skip_checkpoint: whether variables keep the values from `__init__`.
      experimental_variable_policy: how to create variables of strategies.
      experimental_load_function_aliases: whether to load aliases.
    """

    allow_partial_checkpoint: bool = False
    experimental_io_device: str | None = None
    experimental_skip_checkpoint: bool = False
    experimental_variable_policy: Any = None
    experimental_load_function_aliases: bool = False
