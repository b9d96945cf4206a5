"""What `save` and `load` are told beside the object: accepted, so that programs run; none of it has an effect here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class SaveOptions:
    """Options of `tf.saved_model.save`: kept, and without effect. The format keeps classes, so their gradients stay.

    Args:
      namespace_whitelist: of custom ops.
      save_debug_info: whether graphs are written for debugging.
      function_aliases: names of functions by others.
      experimental_debug_stripper: whether debugging ops are left out.
      experimental_io_device: where files are written from.
      experimental_variable_policy: how variables of strategies are written; here always once.
      experimental_custom_gradients: whether gradients of `tf.custom_gradient` are kept; here always.
      experimental_image_format: another file format.
      experimental_skip_saver: leaves functions for checkpoints out.
      experimental_sharding_callback: how values are spread over files.
      extra_tags: more tags.
    """

    def __init__(
        self,
        namespace_whitelist: Sequence[str] | None = None,
        save_debug_info: bool = False,
        function_aliases: Any = None,
        experimental_debug_stripper: bool = False,
        experimental_io_device: str | None = None,
        experimental_variable_policy: Any = None,
        experimental_custom_gradients: bool = True,
        experimental_image_format: bool = False,
        experimental_skip_saver: bool = False,
        experimental_sharding_callback: Any = None,
        extra_tags: Any = None,
    ) -> None:
        """Takes them."""
        self.namespace_whitelist: list[str] = list(namespace_whitelist or ())
        self.save_debug_info = save_debug_info
        self.function_aliases: dict[Any, Any] = dict(function_aliases or {})
        self.experimental_debug_stripper = experimental_debug_stripper
        self.experimental_io_device = experimental_io_device
        self.experimental_variable_policy = experimental_variable_policy
        self.experimental_custom_gradients = experimental_custom_gradients
        self.experimental_image_format = experimental_image_format
        self.experimental_skip_saver = experimental_skip_saver
        self.experimental_sharding_callback = experimental_sharding_callback
        self.extra_tags = extra_tags


class LoadOptions:
    """Options of `tf.saved_model.load`: kept, and without effect.

    Args:
      allow_partial_checkpoint: whether values may be missing.
      experimental_io_device: where files are read from.
      experimental_skip_checkpoint: whether variables keep the values of `__init__`.
      experimental_variable_policy: how variables of strategies are made.
      experimental_load_function_aliases: whether aliases are read.
    """

    def __init__(
        self,
        allow_partial_checkpoint: bool = False,
        experimental_io_device: str | None = None,
        experimental_skip_checkpoint: bool = False,
        experimental_variable_policy: Any = None,
        experimental_load_function_aliases: bool = False,
    ) -> None:
        """Takes them."""
        self.allow_partial_checkpoint = allow_partial_checkpoint
        self.experimental_io_device = experimental_io_device
        self.experimental_skip_checkpoint = experimental_skip_checkpoint
        self.experimental_variable_policy = experimental_variable_policy
        self.experimental_load_function_aliases = experimental_load_function_aliases
