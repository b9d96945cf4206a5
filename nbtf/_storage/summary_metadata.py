"""The message in which a program names the TensorBoard plugin that shows a summary.

Source: TensorFlow, `tensorflow/core/framework/summary.proto`.
"""

from __future__ import annotations

from typing import ClassVar

from nbtf._storage.messages.field_types import BYTES, STRING, Enum
from nbtf._storage.messages.message import Fields, Message

DataClass = Enum(DATA_CLASS_UNKNOWN=0, DATA_CLASS_SCALAR=1, DATA_CLASS_TENSOR=2, DATA_CLASS_BLOB_SEQUENCE=3)


class SummaryMetadata(Message):
    """The plugin of TensorBoard that shows a summary, and texts about it.

    >>> import nbtf.compat.v1 as tf1
    >>> metadata = tf1.SummaryMetadata(display_name="loss")
    >>> metadata.plugin_data.plugin_name = "scalars"
    >>> print(metadata, end="")
    plugin_data {
      plugin_name: "scalars"
    }
    display_name: "loss"
    """

    class PluginData(Message):
        """The name of a plugin, and what only this plugin reads."""

        FIELDS: ClassVar[Fields] = {"plugin_name": (1, STRING), "content": (2, BYTES)}

    FIELDS: ClassVar[Fields] = {
        "plugin_data": (1, PluginData),
        "display_name": (2, STRING),
        "summary_description": (3, STRING),
        "data_class": (4, DataClass),
    }
