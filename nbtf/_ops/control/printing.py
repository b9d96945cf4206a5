"""Printing of tensors: `tf.print`."""

from __future__ import annotations

import sys
from typing import Any

from nbtf._ops.op import no_gradient, op
from nbtf._runtime.context import open_graph
from nbtf._storage import files


@op("string ->", cpu_only=True)
def PrintV2(xp: Any, input: Any, output_stream: str, end: str) -> tuple[()]:
    text = input[()].decode("utf-8", "replace") + end
    if output_stream.startswith("file://"):
        files.append(output_stream.removeprefix("file://"), text)
    else:
        stream = sys.stdout if output_stream == "stdout" else sys.stderr
        stream.write(text)
        stream.flush()
    return ()


@PrintV2.infer
def _(input: Any, output_stream: str, end: str) -> list[Any]:
    return []


no_gradient(PrintV2)


def print(*inputs: Any, **kwargs: Any) -> None:  # TensorFlow's name
    """Prints values in TensorFlow's kernel format: `[1 2.5]`, without commas.

    Args:
      *inputs: tensors, variables, strings and other Python values, also nested in lists, tuples and dictionaries.
      **kwargs: `output_stream`: `sys.stderr` (default), `sys.stdout`, or a string `file://PATH` to append to a
        file; `summarize`: number of elements at both ends of each axis, 3 by default, -1 for all; `sep` and
        `end`: the text between values and after them, a space and a newline by default; `name`: accepted
        and ignored.

    Raises:
      ValueError: if a keyword or stream is unknown.

    >>> import sys
    >>> tf.print("x", tf.constant([1.0, 2.5]), [1, tf.constant(2)], output_stream=sys.stdout)
    x [1 2.5] [1, 2]
    """
    from nbtf._ops.strings.formatting import StringFormat, inputs_text

    graph = open_graph()
    if hasattr(graph, "call_with"):
        graph.call_with("PrintV2", _print_values, inputs, kwargs)
        return
    stream = _stream_name(kwargs.pop("output_stream", sys.stderr))
    summarize, sep = kwargs.pop("summarize", 3), kwargs.pop("sep", " ")
    end, name = kwargs.pop("end", "\n"), kwargs.pop("name", None)
    if kwargs:
        raise ValueError(f"Unrecognized keyword arguments for tf.print: {kwargs}")
    text = inputs_text(inputs, sep, 3 if summarize is None else summarize)
    PrintV2(StringFormat(text=text.encode("utf-8", "surrogateescape")), output_stream=stream, end=end, name=name)


def _print_values(inputs: Any, kwargs: Any) -> None:
    print(*inputs, **kwargs)


def _stream_name(stream: Any) -> str:
    if stream is sys.stderr or stream is sys.stdout:
        return "stdout" if stream is sys.stdout else "stderr"
    if isinstance(stream, str) and stream.startswith("file://"):
        return stream
    raise ValueError(
        f"Unsupported output stream, logging level, or file.{stream}. Supported streams are sys.stdout, sys.stderr. "
        "File needs to be in the form of 'file://<filepath>'."
    )
