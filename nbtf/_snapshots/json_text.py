"""How is a snapshot read from JSON? Event by event, so that a large file never becomes one large object."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from nbtf._snapshots.contents import SnapshotBuilder
from nbtf._snapshots.damage import damaged
from nbtf._storage.refusal import RefusedFileError

_SPACE = re.compile(r"[ \t\n\r]*")


class _Text:
    """A JSON text and a position in it."""

    def __init__(self, text: str, source: str) -> None:
        self.text, self.source, self.at = text, source, 0
        self._decode = json.JSONDecoder().raw_decode

    def next(self) -> str:
        """Returns the next character other than a space, without passing it."""
        match = _SPACE.match(self.text, self.at)
        self.at = match.end() if match else self.at
        return self.text[self.at : self.at + 1]

    def value(self) -> Any:
        """Passes and returns a value."""
        self.next()
        try:
            value, self.at = self._decode(self.text, self.at)
        except (ValueError, RecursionError) as error:
            raise RefusedFileError(f"{self.source} is damaged: it is not valid JSON: {error}.") from None
        return value

    def expect(self, character: str) -> None:
        """Passes a character."""
        if self.next() != character:
            raise RefusedFileError(
                f"{self.source} is damaged: it is not valid JSON: {self.text[self.at : self.at + 1]!r} at character "
                f"{self.at:,}; expected {character!r}."
            )
        self.at += 1

    def is_next(self, character: str) -> bool:
        """Passes a character if it is the next one."""
        is_there = self.next() == character
        self.at += is_there
        return is_there

    def each(self, opening: str, closing: str, pass_entry: Callable[[], None]) -> None:
        """Passes a list or a dictionary, entry by entry."""
        self.expect(opening)
        if self.is_next(closing):
            return
        pass_entry()
        while self.is_next(","):
            pass_entry()
        self.expect(closing)


def add_json(text: str, source: str, builder: SnapshotBuilder) -> Any:
    """Adds a snapshot in JSON to a builder.

    Args:
      text: the dictionary that PyTorch writes, or its list of segments.
      source: the file that errors name.
      builder: collects the parts.

    Returns:
      The allocator's settings, or None.

    Raises:
      RefusedFileError: if it is not JSON, or not a snapshot.
    """
    stream = _Text(text, source)
    entries: dict[str, Any] = {}

    def pass_segment() -> None:
        builder.add_segment(stream.value())

    def pass_trace() -> None:
        rows = builder.new_trace()
        stream.each("[", "]", lambda: rows.add(stream.value()))

    def pass_entry() -> None:
        name = stream.value()
        stream.expect(":")
        if name in entries:
            raise RefusedFileError(f"{source} is damaged: it has two entries {name!r:.40}.")
        entries[name] = None
        if name == "segments":
            stream.each("[", "]", pass_segment)
        elif name == "device_traces":
            stream.each("[", "]", pass_trace)
        else:
            entries[name] = stream.value()

    if stream.next() == "[":
        stream.each("[", "]", pass_segment)
    else:
        stream.each("{", "}", pass_entry)
        if not {"segments", "device_traces"} & entries.keys():
            raise damaged(source, "its content", entries, "a memory snapshot of PyTorch, with `segments`")
    if stream.next():
        raise RefusedFileError(f"{source} is damaged: text follows the JSON at character {stream.at:,}.")
    return entries.get("allocator_settings")
