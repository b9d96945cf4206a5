"""`tf.version`: which TensorFlow does nbtf follow? nbtf's own version is `tf.runtime.version`."""

from __future__ import annotations

import sys

from nbtf._public import public_names as _public_names

VERSION = "2.21.0"
"""The TensorFlow version whose behaviour nbtf follows."""
GIT_VERSION = f"v{VERSION}"
COMPILER_VERSION = sys.version.partition("[")[2].rstrip("]")
"""The compiler that built the running Python."""
GRAPH_DEF_VERSION = 2474
"""The graph version of TensorFlow 2.21; `Graph.as_graph_def` sets it as `producer`."""
GRAPH_DEF_VERSION_MIN_CONSUMER = 0
GRAPH_DEF_VERSION_MIN_PRODUCER = 0


def __dir__() -> list[str]:
    return _public_names(__name__)
