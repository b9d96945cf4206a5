"""Diagrams of models as Graphviz text, which Graphviz can draw."""

from __future__ import annotations

from os import PathLike
from typing import Any

from nbtf._runtime.arguments import check_has
from nbtf._storage import files


def model_to_dot(
    model: Any,
    show_shapes: bool = False,
    show_dtype: bool = False,
    show_layer_names: bool = True,
    rankdir: str = "TB",
    **ignored: Any,
) -> str:
    """Returns a model as Graphviz text.

    Args:
      model: a model.
      show_shapes: whether to show the shapes of results; false by default.
      show_dtype: whether to show dtypes; false by default.
      show_layer_names: whether to show names besides classes; true by default.
      rankdir: `"TB"` from top to bottom, `"LR"` from left to right.
      **ignored: further Keras arguments, which are ignored.

    >>> model = tf.keras.Sequential([tf.keras.Input((3,)), tf.keras.layers.Dense(2, name="out")])
    >>> print(tf.keras.utils.model_to_dot(model, show_shapes=True))
    digraph {
      rankdir=TB; node [shape=record];
      "out" [label="out | Dense | (None, 2)"];
    }
    """
    lines = ["digraph {", f"  rankdir={rankdir}; node [shape=record];"]
    names = {layer.name for layer in check_has(model, "layers", "model", "a model").layers}
    previous: Any = None
    for layer in model.layers:
        words = [layer.name] if show_layer_names else []
        words.append(type(layer).__name__)
        result: Any = getattr(layer, "output", None) if show_shapes or show_dtype else None
        if show_shapes and hasattr(result, "shape"):
            words.append(str(tuple(result.shape)))
        if show_dtype and hasattr(result, "dtype"):
            words.append(str(result.dtype))
        lines.append(f'  "{layer.name}" [label="{" | ".join(words)}"];')
        lines += [f'  "{source}" -> "{layer.name}";' for source in _source_names(layer, previous) if source in names]
        previous = layer
    return "\n".join([*lines, "}"])


def _source_names(layer: Any, previous: Any) -> list[str]:
    """Returns the names of the layers whose results a layer receives."""
    names = [source.name for source in getattr(layer, "inbound_layers", [])]
    return names or ([previous.name] if previous is not None and not hasattr(layer, "batch_shape") else [])


def plot_model(
    model: Any,
    to_file: str | PathLike[str] = "model.png",
    show_shapes: bool = False,
    show_dtype: bool = False,
    show_layer_names: bool = True,
    rankdir: str = "TB",
    **ignored: Any,
) -> None:
    """Draws no image and prints alternatives. If `to_file` ends in `.dot`, writes Graphviz text to it.

    Args:
      model: a model.
      to_file: path of the file; only `.dot` is supported.
      show_shapes: whether to show the shapes of results; false by default.
      show_dtype: whether to show dtypes; false by default.
      show_layer_names: whether to show names; true by default.
      rankdir: direction of the diagram; see `model_to_dot`.
      **ignored: further Keras arguments, which are ignored.
    """
    if str(to_file).endswith(".dot"):
        text = model_to_dot(model, show_shapes, show_dtype, show_layer_names, rankdir)
        files.write(to_file, text)
        return
    print(  # noqa: T201  # programs that draw should go on, and the user should see why the image is missing
        "plot_model draws no image. Use model.summary() to show the layers, or to_file='model.dot' for Graphviz text."
    )
