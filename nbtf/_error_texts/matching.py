"""Where in a text is each message, and how often? Equal messages are explained once, however many there are."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from nbtf._error_texts.cleaning import Text
from nbtf._error_texts.finding import Finding

Build: TypeAlias = Callable[[str, int], Finding]
"""Returns the finding of a message, given its quote and the number of its line."""

_MOST_DIFFERENT = 2000
"""Different messages that are told apart; further ones are only counted."""
_NEAR = 400
"""Characters between TensorFlow's sentence and nbtf's figures about the same request."""


class Matches:
    """The messages of a text and where they are."""

    def __init__(self, text: Text) -> None:
        """Stores the text."""
        self._text = text
        self._indices: dict[tuple[str, str], int] = {}
        self._messages: list[tuple[str, int, Build]] = []
        self._starts: list[array[int]] = []
        self.left_out: int = 0

    def add(self, name: str, start: int, end: int, build: Build) -> None:
        """Adds a message.

        Args:
          name: name of the message.
          start: offset of its first character in the squeezed text.
          end: offset after its last one.
          build: explains it; called only once for equal messages.
        """
        key = name, self._text.squeezed[start:end]
        index = self._indices.get(key)
        if index is None:
            if len(self._messages) >= _MOST_DIFFERENT:
                self.left_out += 1
                return
            index = self._indices[key] = len(self._messages)
            self._messages.append((name, end - start, build))
            self._starts.append(array("q"))
        self._starts[index].append(start)

    def findings(self) -> list[Finding]:
        """Returns the different messages, each with its first line and the number of its repetitions."""
        times: dict[int, tuple[int, int]] = {}
        for start, index in self._outermost():
            first, count = times.get(index, (start, 0))
            times[index] = first, count + 1
        findings: list[Finding] = []
        for index, (start, count) in times.items():
            _, length, build = self._messages[index]
            finding = build(self._text.quote(start, start + length), self._text.number_at(start))
            findings.append(replace(finding, times=count))
        return findings

    def _outermost(self) -> Iterator[tuple[int, int]]:
        """Yields the start and the index of each message that is not part of another, in order.

        TensorFlow's sentence is left out if nbtf's figures follow.
        """
        if not self._messages:
            return
        starts = np.concatenate([np.frombuffer(each, np.int64) for each in self._starts])
        indices = np.repeat(np.arange(len(self._starts)), [len(each) for each in self._starts])
        lengths = np.array([length for _, length, _ in self._messages])[indices]
        end = 0
        waiting: tuple[int, int] | None = None
        for position in np.lexsort((-lengths, starts)).tolist():
            start, index = int(starts[position]), int(indices[position])
            if start < end:
                continue
            name = self._messages[index][0]
            if waiting is not None:
                if not (name.startswith("nbtf") and start - end < _NEAR):
                    yield waiting
                waiting = None
            end = start + int(lengths[position])
            if name == "tensor":
                waiting = start, index
            else:
                yield start, index
        if waiting is not None:
            yield waiting
