"""How are the events of a trace read one by one? A trace of 300 MB is never in memory as a whole.

Source of the form: "Trace Event Format", the document of Chromium's trace viewer. A trace is an object with the list
`traceEvents`, or the list alone, whose end may be missing.
"""

from __future__ import annotations

import codecs
import gzip
import json
from collections.abc import Iterator
from json.decoder import JSONDecodeError
from typing import IO, Any, cast

from nbtf._storage.limits import Limit

_CHUNK = 1 << 20
_DECODER = json.JSONDecoder()
_SPACES = " \t\r\n"
EVENTS = "traceEvents"

VALUE_BYTES = Limit(64 << 20, "characters in one value of a trace", "Record fewer steps, or without stacks.")
TRACE_BYTES = Limit(8 << 30, "bytes of uncompressed trace", "Record fewer steps.")


class TraceStream:
    """The events of a trace, read from a file in pieces.

    Attributes:
      header: the values beside the events, by key; complete after the last event.
      is_cut: whether the end of a list was missing; known after the last event.
    """

    def __init__(self, file: IO[bytes]) -> None:
        """Starts at the beginning of a file; content that begins as gzip is decompressed."""
        is_compressed = file.read(2) == b"\x1f\x8b"
        file.seek(0)
        self._file: IO[bytes] = cast("IO[bytes]", gzip.GzipFile(fileobj=file)) if is_compressed else file
        self._decode = codecs.getincrementaldecoder("utf-8-sig")("replace").decode
        self._text, self._at, self._read_bytes, self._is_at_end = "", 0, 0, False
        self.header: dict[str, Any] = {}
        self.is_cut = False

    def events(self) -> Iterator[Any]:
        """Yields the events.

        Raises:
          ValueError: if the content is not a trace.
        """
        match self._peek():
            case "[":
                yield from self._list(may_be_cut=True)
            case "{":
                yield from self._object()
            case _:
                raise ValueError("it begins with neither { nor [, so it is not a trace in JSON.")

    def _object(self) -> Iterator[Any]:
        self._at += 1
        has_events = False
        while self._peek() != "}":
            key = self._value()
            if not isinstance(key, str) or self._peek() != ":":
                raise ValueError(f"{key!r:.60} is not the key of a value.")
            self._at += 1
            if key == EVENTS and self._peek() == "[":
                has_events = True
                yield from self._list(may_be_cut=False)
            else:
                self.header[key[:100]] = self._value()
            self._comma("}")
        if not has_events:
            raise ValueError(f"it has no list {EVENTS!r}, so it is not a trace.")

    def _list(self, may_be_cut: bool) -> Iterator[Any]:
        self._at += 1
        while True:
            try:
                if self._peek() in "]":
                    if not self._peek():
                        raise EOFError
                    break
                value = self._value()
            except EOFError:
                if not may_be_cut:
                    raise ValueError("the file ends inside the list of events.") from None
                self.is_cut = True
                return
            yield value
            if may_be_cut and not self._peek():
                self.is_cut = True
                return
            self._comma("]")
        self._at += 1

    def _comma(self, end: str) -> None:
        following = self._peek()
        if following == ",":
            self._at += 1
        elif following != end:
            raise ValueError(f"{following!r} follows a value; expected a comma or {end!r}.")

    def _peek(self) -> str:
        """Returns the next character that is not a space; empty at the end."""
        while True:
            while self._at < len(self._text):
                if self._text[self._at] not in _SPACES:
                    return self._text[self._at]
                self._at += 1
            if not self._read(_CHUNK):
                return ""

    def _value(self) -> Any:
        """Reads one value.

        Raises:
          EOFError: if the file ends inside the value.
        """
        self._peek()
        size = _CHUNK
        while True:
            try:
                value, end = _DECODER.raw_decode(self._text, self._at)
            except JSONDecodeError as error:
                if self._is_at_end:
                    if error.pos >= len(self._text) - 1 or error.msg.startswith("Unterminated"):
                        raise EOFError from error
                    raise ValueError(f"{error.msg}: {self._text[error.pos : error.pos + 40]!r}.") from error
            except RecursionError:
                raise ValueError("its values are nested too deeply.") from None
            else:
                if end < len(self._text) or self._is_at_end:
                    self._at = end
                    return value
            VALUE_BYTES.check(len(self._text) - self._at)
            self._read(size)
            size *= 2

    def _read(self, size: int) -> bool:
        """Reads another piece; returns whether there was one."""
        if self._is_at_end:
            return False
        content = self._file.read(size)
        self._read_bytes += len(content)
        TRACE_BYTES.check(self._read_bytes)
        self._is_at_end = not content
        self._text, self._at = self._text[self._at :] + self._decode(content, self._is_at_end), 0
        return bool(content) or bool(self._text)
