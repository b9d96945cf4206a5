"""The summary of a model: a table of its layers with the shapes of their results and the numbers of their weights."""

from __future__ import annotations

import math
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from nbtf import nest
from nbtf._types import as_dtype
from nbtf.keras.operation import node_of


class _Layout(NamedTuple):
    """The columns: titles, alignment, and ends as fractions of the line."""

    titles: list[str]
    aligns: list[Callable[[str, int], str]]
    ends: list[float]
    length: int


_CHAIN = _Layout(["Layer (type)", "Output Shape", "Param #"], [str.ljust, str.ljust, str.rjust], [0.45, 0.8, 1.0], 88)
_GRAPH = _Layout([*_CHAIN.titles, "Connected to"], [*_CHAIN.aligns, str.ljust], [0.3, 0.56, 0.74, 1.0], 108)


def print_summary(
    model: Any,
    line_length: int | None = None,
    print_fn: Callable[..., Any] | None = None,
    expand_nested: bool = False,
    show_trainable: bool = False,
) -> None:
    """Prints a table of the layers; see `Model.summary`."""
    chain = is_chain(model)
    layout = _CHAIN if chain else _GRAPH
    if show_trainable:
        layout = _Layout(
            [*layout.titles, "Trainable"],
            [*layout.aligns, str.center],
            [*(0.9 * end for end in layout.ends), 1.0],
            layout.length + 12,
        )
    length = line_length or min(layout.length, shutil.get_terminal_size().columns - 4)
    operations = getattr(model, "_operations", model.layers)
    rows = [
        _fields(layer, level, chain, show_trainable, model)
        for operation in operations
        for layer, level in _with_nested(operation, 0, expand_nested)
    ]
    text = "\n".join([f'Model: "{model.name}"', *_table(layout, rows, length), *_totals(model)])
    if print_fn is None:
        sys.stdout.write(text + "\n")
    else:
        print_fn(text)


def is_chain(model: Any) -> bool:
    """Returns whether each layer receives the results of the previous one and nothing else."""
    nodes = getattr(model, "_nodes", None)
    if nodes is None:
        return True
    if len(model.inputs) > 1 or len(model.outputs) > 1:
        return False
    used_ids = [id(tensor) for node in nodes for tensor in node.input_tensors]
    each_once = len({id(node.operation) for node in nodes}) == len(nodes)
    return each_once and len(used_ids) == len(set(used_ids)) and all(len(node.input_tensors) == 1 for node in nodes)


def _with_nested(operation: Any, level: int, expand: bool) -> Iterator[tuple[Any, int]]:
    yield operation, level
    for layer in getattr(operation, "layers", ()) if expand else ():
        yield from _with_nested(layer, level + 1, expand)


# The cells of a row


def _fields(operation: Any, level: int, chain: bool, show_trainable: bool, model: Any) -> list[str]:
    type_name = type(operation).__name__ if not hasattr(operation, "kind") else operation.kind
    prefix = "   " * level + "└ " if level else ""
    fields = [f"{prefix}{operation.name} ({type_name})", shape_text(operation), _count_text(operation)]
    if not chain:
        fields.append(_sources(operation, model))
    if show_trainable:
        has_weights = bool(getattr(operation, "weights", None))
        fields.append(("Y" if operation.trainable else "N") if has_weights else "-")
    return fields


def _count_text(operation: Any) -> str:
    if not operation.built:
        return "0 (unbuilt)"
    return f"{operation.count_params():,}" if hasattr(operation, "count_params") else "0"


def shape_text(operation: Any) -> str:
    """Returns the shape of a layer's results as text; `?` if it is unknown."""
    if operation._inbound_nodes:
        outputs = operation._inbound_nodes[-1].outputs
        shapes = [str(tensor.shape) for tensor in nest.flatten(outputs)]
        return shapes[0] if len(shapes) == 1 else f"[{', '.join(shapes)}]"
    functional = getattr(operation, "_functional", None)
    if functional is not None:
        return str(functional.output_shape)
    shape = getattr(operation, "_build_shape", None)
    if shape is None:
        return "?"
    try:
        return str(operation.compute_output_shape(shape))
    except (NotImplementedError, TypeError, ValueError, AttributeError):  # `call` may fail with symbolic tensors
        return "?"


def _sources(operation: Any, model: Any) -> str:
    node_ids = {id(node) for node in model._nodes}
    connections = [
        f"{node_of(tensor).operation.name}[{tensor._keras_history.node_index}][{tensor._keras_history.tensor_index}]"
        for node in operation._inbound_nodes
        if id(node) in node_ids
        for tensor in node.input_tensors
    ]
    return ", ".join(connections) or "-"


# The table


def _table(layout: _Layout, rows: list[list[str]], length: int) -> Iterator[str]:
    widths = _widths(layout, length)
    bars = [width * "━" for width in widths]
    yield f"┏{'┳'.join(bars)}┓"
    yield from _lines(layout.titles, layout, widths, "┃")
    yield f"┡{'╇'.join(bars)}┩"
    thin = [width * "─" for width in widths]
    for number, row in enumerate(rows):
        if number:
            yield f"├{'┼'.join(thin)}┤"
        yield from _lines(row, layout, widths, "│")
    yield f"└{'┴'.join(thin)}┘"


def _widths(layout: _Layout, length: int) -> list[int]:
    """Returns the widths of the columns, after distributing the space for the bars among them."""
    ends = [int(end * length) for end in layout.ends]
    widths = [end - begin for begin, end in zip([0, *ends[:-1]], ends, strict=True)]
    if min(widths) < 4:
        raise ValueError("Insufficient console width to print summary.")
    bars, columns_left = len(widths) + 1, len(widths)
    inner_widths: list[int] = []
    excess = bars + 2 * columns_left
    for width in widths:
        share = round(excess / columns_left)
        inner_widths.append(width + 2 - share)
        excess, columns_left = excess - share, columns_left - 1
    return inner_widths


def _lines(cells: list[str], layout: _Layout, widths: list[int], bar: str) -> Iterator[str]:
    wrapped = [_wrap_text(cell, width - 2) for cell, width in zip(cells, widths, strict=True)]
    for number in range(max(map(len, wrapped))):
        texts = [
            align(lines[number] if number < len(lines) else "", width - 2)
            for lines, width, align in zip(wrapped, widths, layout.aligns, strict=True)
        ]
        yield f"{bar} {f' {bar} '.join(texts)} {bar}"


def _wrap_text(text: str, width: int) -> list[str]:
    """Returns a text wrapped to lines of this width; longer words are cut and end with `…`."""
    indent = len(text) - len(text.lstrip())
    lines, line = list[str](), ""
    for word in text.split():
        longer = f"{line} {word}" if line else word
        if line and len(longer) + (indent if not lines else 0) > width:
            lines.append(line)
            line = word
        else:
            line = longer
    lines.append(line)
    lines[0] = " " * indent + lines[0]
    return [line if len(line) <= width else line[: width - 1] + "…" for line in lines]


# Below the table


def _totals(model: Any) -> Iterator[str]:
    trainable, frozen = model.trainable_weights, model.non_trainable_weights
    optimizer = getattr(model, "optimizer", None)
    of_optimizer: list[Any] = list(getattr(optimizer, "variables", ())) if getattr(optimizer, "built", False) else []
    all_weights = [*trainable, *frozen, *of_optimizer]
    yield f" Total params: {_sizes(all_weights)}"
    yield f" Trainable params: {_sizes(trainable)}"
    yield f" Non-trainable params: {_sizes(frozen)}"
    if of_optimizer:
        yield f" Optimizer params: {_sizes(of_optimizer)}"


def _sizes(weights: Sequence[Any]) -> str:
    counts = [math.prod(tuple(weight.shape)) for weight in weights]
    nbytes = float(sum(n * as_dtype(weight.dtype).size for n, weight in zip(counts, weights, strict=True)))
    return f"{sum(counts):,} ({readable(nbytes)})"


def readable(nbytes: float) -> str:
    """Returns a number of bytes as text in a suitable unit.

    >>> readable(104), readable(213 * 1024)
    ('104.00 B', '213.00 KB')
    """
    units = ["B", "KB", "MB", "GB", "TB", "PB"]
    while nbytes >= 1024 and len(units) > 1:
        nbytes /= 1024
        units.pop(0)
    return f"{nbytes:.2f} {units[0]}"
