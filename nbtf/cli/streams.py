r"""What does a reader see of a stream that overwrites what it has printed, with `\r` or `\b`?"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import groupby
from typing import Any

Output = dict[str, Any]

_OVERWRITTEN = re.compile(r"^.*\r(?=[^\n])", re.MULTILINE)
_WITH_BACKSPACES = re.compile("^[^\n\x08]*\x08.*", re.MULTILINE)
_RUN = re.compile("[^\x08]+|\x08+")


def as_seen(stream: str) -> str:
    r"""Returns a stream without the characters that it erased or overwrote.

    A backspace erases the character before it, within its line.

    >>> as_seen("10%\r20%\r100%\nabc\x08\x08d")
    '100%\nad'
    """
    stream = stream.replace("\r\n", "\n")  # a terminal's line ending, as shell commands print it
    return without_overwritten(_WITH_BACKSPACES.sub(lambda line: _without_erased(line[0]), stream))


def without_overwritten(stream: str) -> str:
    r"""Returns a stream without text that a later part of the same line overwrites.

    >>> without_overwritten("1 of 2\r2 of 2\n")
    '2 of 2\n'
    """
    return _OVERWRITTEN.sub("", stream)


def _without_erased(line: str) -> str:
    """Returns a line without the text its backspaces erase, in linear time."""
    spans: list[tuple[int, int]] = []  # start and end of the parts that remain
    for run in _RUN.finditer(line):
        start, end = run.span()
        if line[start] != "\x08":
            spans.append((start, end))
        else:
            _erase(spans, end - start)
    return "".join(line[start:end] for start, end in spans)


def _erase(spans: list[tuple[int, int]], count: int) -> None:
    while spans and count:
        start, end = spans.pop()
        if end - start > count:
            spans.append((start, end - count))
        count -= min(count, end - start)


def joined_streams(outputs: Iterable[Output]) -> list[Output]:
    """Returns the outputs of a cell with each stream joined into one output, as notebooks store it.

    A stream takes the position of its first piece; standard output goes before an adjacent error stream, because the
    order of the two is random.

    Args:
      outputs: as they arrived.
    """
    joined: list[Output] = []
    pieces: dict[str, list[str]] = {}
    for output in outputs:
        if output["output_type"] != "stream":
            joined.append(output)
        elif output["name"] in pieces:
            pieces[output["name"]].append(_moved_text(output))
        else:
            pieces[output["name"]] = [_moved_text(output)]
            joined.append(output)
    for output in joined:
        if output["output_type"] == "stream":
            output["text"] = without_overwritten("".join(pieces[output["name"]]))
    names = [output.get("name") for output in joined]
    for index in range(len(joined) - 1):
        if names[index : index + 2] == ["stderr", "stdout"]:
            joined[index : index + 2] = joined[index + 1], joined[index]
    return joined


def joined_neighbours(outputs: Iterable[Output]) -> list[Output]:
    """Returns the outputs of a cell with adjacent pieces of the same stream joined.

    Args:
      outputs: as they arrived.
    """
    joined: list[Output] = []
    for (output_type, _), neighbours in groupby(outputs, lambda output: (output["output_type"], output.get("name"))):
        output, *following = neighbours
        if output_type == "stream":
            output["text"] = "".join(map(_moved_text, [output, *following]))
            following = []
        joined += [output, *following]
    return joined


def _moved_text(piece: Output) -> str:
    """Returns the text of a piece and empties the piece, so that the stream is not in memory twice."""
    text: str = piece["text"]
    piece["text"] = ""
    return text
