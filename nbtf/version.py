"""`tf.version`: which TensorFlow is followed. nbtf's own version is `tf.runtime.version`."""

from __future__ import annotations

import sys

from nbtf._public import public_names as _public_names

VERSION = "2.21.0"
"""TensorFlow's version whose behaviour is followed."""
GIT_VERSION = f"v{VERSION}"
COMPILER_VERSION = sys.version.partition("[")[2].rstrip("]")
"""What built the Python that runs."""
GRAPH_DEF_VERSION = 2474
"""Of TensorFlow 2.21; `Graph.as_graph_def` states it as `producer`."""
GRAPH_DEF_VERSION_MIN_CONSUMER = 0
GRAPH_DEF_VERSION_MIN_PRODUCER = 0


def __dir__() -> list[str]:
    return _public_names(__name__)
