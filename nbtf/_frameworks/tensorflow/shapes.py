"""How many bytes has the result of a node, as far as its shape is known before the function runs?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

NbytesOf = Callable[[str, int], "int | None"]
"""Returns the size of a tensor by its name, `node` or `node:1`, and the number of its dtype; None if unknown."""


def static_sizes(tensorflow: Any, graph_definition: Any) -> NbytesOf:
    """Returns the sizes that TensorFlow's shape inference finds in a graph, read in a graph of its own.

    Args:
      tensorflow: TensorFlow's module.
      graph_definition: a `GraphDef`.
    """
    graph = tensorflow.Graph()
    try:
        with graph.as_default():
            tensorflow.graph_util.import_graph_def(graph_definition, name="")
    except Exception:  # an op that TensorFlow cannot import, such as one made by its optimizer
        return lambda tensor, dtype: None

    def nbytes_of(tensor: str, dtype: int) -> int | None:
        name, _, number = tensor.partition(":")
        try:
            shape = graph.get_operation_by_name(name).outputs[int(number or 0)].shape
            elements = shape.num_elements()
        except Exception:  # a node that only the last steps of optimization add
            return None
        size = tensorflow.dtypes.as_dtype(dtype).size
        return None if elements is None or size is None or dtype in _VARIABLE_SIZE else elements * size

    return nbytes_of


_VARIABLE_SIZE = frozenset({7, 20, 21})
"""Numbers of the dtypes `string`, `resource` and `variant`, whose values have no fixed size."""
