"""What is in a batch? Records of work, in the order of the program, each a few bytes long.

    batch     number of the batch, records
    record    its kind, then numbers; repeated texts (ops with their attributes, tasks, lines) are sent once and get a
              number

Every number takes as many bytes as it needs, seven bits each. The controller numbers results, and a record names its
inputs by how long ago they were made: in a chain of ops, each input takes one byte.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeAlias

from nbtf._cluster.engine import Frame, Message

LARGEST_INSIDE = 64 << 10
"""Arrays with more bytes are sent as separate frames."""


class Template(NamedTuple):
    """An op with everything about it that repeats.

    `lists` has the length of each input that is a list, -1 for the others; `attrs` is text. `results` is the number of
    results; `waits` is true if the controller waits to learn their shapes.
    """

    op: str
    device: int
    lists: tuple[int, ...]
    attrs: str
    results: int
    waits: bool


class Draw(NamedTuple):
    """The position from which a random op reads: key, and a counter in two words."""

    key: int
    low: int
    high: int


class Run(NamedTuple):
    """Runs an op, whose first result gets the number `first`."""

    template: Template
    inputs: tuple[int, ...]
    first: int
    draw: Draw | None = None
    site: str = ""

    @property
    def op(self) -> str:
        """The type of the op."""
        return self.template.op

    @property
    def device(self) -> int:
        """The number of the device that runs it."""
        return self.template.device

    @property
    def results(self) -> int:
        """The number of results."""
        return self.template.results


class Put(NamedTuple):
    """Creates a tensor from an array; the dtype is its number in TensorFlow's files."""

    device: int
    first: int
    dtype: int
    shape: tuple[int, ...]
    content: Frame
    op: str = "_EagerConst"
    site: str = ""

    results = 1


class Copy(NamedTuple):
    """Copies a tensor from another device, of the same task if `peer` is empty, otherwise of the task `peer`."""

    device: int
    first: int
    number: int
    peer: str = ""
    site: str = ""

    op = "copy"
    results = 1


class Drop(NamedTuple):
    """Replaces a record whose results are no longer needed, because the program was interrupted before it was sent."""

    device: int
    first: int
    results: int
    op: str
    site: str = ""


class Free(NamedTuple):
    """Frees a tensor."""

    number: int


class Get(NamedTuple):
    """Requests the values of a tensor."""

    number: int


class Listen(NamedTuple):
    """Starts or stops notifications about the memory of a device."""

    device: int
    on: bool


class Look(NamedTuple):
    """Requests the map of a device's memory, frees unused memory (`trim`), or resets its peak (`peak`)."""

    device: int
    question: str


Making: TypeAlias = "Run | Put | Copy | Drop"
"""Records with results: `results` is their number, and `first` the number of the first."""
Record: TypeAlias = "Making | Free | Get | Listen | Look"

_TEXT, _SKIP, _SITE, _PUT, _PUT_FRAME, _COPY, _FREE, _GET, _LISTEN, _LOOK, _DROP = range(11)
_RUN = 16
"""First kind that means an op: the number of the op's text is added to it."""


def write_number(out: bytearray, number: int) -> None:
    """Appends a number, which must not be negative."""
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)


def write_numbers(out: bytearray, *numbers: int) -> None:
    """Appends several."""
    for number in numbers:
        write_number(out, number)


class Writer:
    """Writes batches for one session."""

    def __init__(self) -> None:
        """Starts with no text sent."""
        self._texts: dict[object, int] = {}
        self._next = 0
        self._site = ""

    def batch(self, number: int, records: Sequence[Record]) -> Message:
        """Returns a batch."""
        out, frames = bytearray(), list[Frame]()
        write_number(out, number)
        for record in records:
            self._write(out, frames, record)
        return Message(bytes(out), frames)

    def _write(self, out: bytearray, frames: list[Frame], record: Record) -> None:
        if isinstance(record, Run):
            self._run(out, record)
        elif isinstance(record, Put):
            self._put(out, frames, record)
        elif isinstance(record, Copy):
            self._write_position(out, record.first, record.site)
            peer = self._text(out, record.peer)
            write_numbers(out, _COPY, record.device, record.number, peer)
            self._next = record.first + 1
        elif isinstance(record, Drop):
            self._write_position(out, record.first, record.site)
            op = self._text(out, record.op)
            write_numbers(out, _DROP, record.device, record.results, op)
            self._next = record.first + record.results
        elif isinstance(record, Listen):
            write_numbers(out, _LISTEN, record.device, int(record.on))
        elif isinstance(record, Look):
            question = self._text(out, record.question)
            write_numbers(out, _LOOK, record.device, question)
        else:
            write_numbers(out, _FREE if isinstance(record, Free) else _GET, record.number)

    def _run(self, out: bytearray, record: Run) -> None:
        template, inputs, first, draw, site = record
        self._write_position(out, first, site)
        number = self._texts.get(template)
        if number is None:
            number = self._define(out, template, json.dumps(template, separators=(",", ":")))
        write_number(out, _RUN + number)
        for handle in inputs:
            write_number(out, first - handle)
        if draw is not None:
            for word in draw:
                out += word.to_bytes(8)
        self._next = first + template.results

    def _put(self, out: bytearray, frames: list[Frame], record: Put) -> None:
        self._write_position(out, record.first, record.site)
        op = self._text(out, record.op)
        content = record.content
        is_inside = len(content) <= LARGEST_INSIDE
        write_number(out, _PUT if is_inside else _PUT_FRAME)
        write_numbers(out, record.device, op, record.dtype, len(record.shape), *record.shape)
        if is_inside:
            write_number(out, len(content))
            out += content
        else:
            frames.append(content)
        self._next = record.first + 1

    def _write_position(self, out: bytearray, first: int, site: str) -> None:
        """Writes the numbers of the results and the code line, unless they follow from the previous record."""
        if first != self._next:
            write_numbers(out, _SKIP, first - self._next)
        if site != self._site:
            number = self._text(out, site)
            write_numbers(out, _SITE, number)
            self._site = site

    def _text(self, out: bytearray, text: str) -> int:
        number = self._texts.get(text)
        return self._define(out, text, text) if number is None else number

    def _define(self, out: bytearray, key: object, text: str) -> int:
        content = text.encode()
        write_numbers(out, _TEXT, len(content))
        out += content
        number = self._texts[key] = len(self._texts)
        return number


class Reader:
    """Reads the batches of one session."""

    def __init__(self) -> None:
        """Starts with no text read."""
        self._texts: list[str] = []
        self._templates: dict[int, Template] = {}
        self._next = 0
        self._site = ""

    def number(self, batch: Message) -> int:
        """Returns the number of a batch."""
        return _Numbers(batch.head).take()

    def records(self, batch: Message) -> Iterator[Record]:
        """Yields the records of a batch; all of them must be read."""
        numbers, frames = _Numbers(batch.head), iter(batch.frames)
        numbers.take()
        while numbers.at < len(batch.head):
            tag = numbers.take()
            if tag >= _RUN:
                yield self._run(tag - _RUN, numbers)
            elif tag == _TEXT:
                self._texts.append(numbers.content(numbers.take()).decode())
            elif tag == _SKIP:
                self._next += numbers.take()
            elif tag == _SITE:
                self._site = self._texts[numbers.take()]
            else:
                yield self._device_record(tag, numbers, frames)

    def _device_record(self, tag: int, numbers: _Numbers, frames: Iterator[Frame]) -> Record:
        if tag == _FREE:
            return Free(numbers.take())
        if tag == _GET:
            return Get(numbers.take())
        if tag in (_PUT, _PUT_FRAME):
            return self._put(numbers, None if tag == _PUT else next(frames))
        device = numbers.take()
        if tag == _COPY:
            number, peer = numbers.take(), numbers.take()
            return Copy(device, self._results(1), number, self._texts[peer], self._site)
        if tag == _DROP:
            count, op = numbers.take(), numbers.take()
            return Drop(device, self._results(count), count, self._texts[op], self._site)
        if tag == _LISTEN:
            return Listen(device, bool(numbers.take()))
        if tag == _LOOK:
            return Look(device, self._texts[numbers.take()])
        raise ValueError(f"Unknown record of kind {tag}.")

    def _results(self, count: int) -> int:
        first = self._next
        self._next += count
        return first

    def _run(self, text: int, numbers: _Numbers) -> Run:
        template = self._templates.get(text)
        if template is None:
            op, device, lists, attrs, results, waits = json.loads(self._texts[text])
            template = self._templates[text] = Template(op, device, tuple(lists), attrs, results, waits)
        first = self._results(template.results)
        count = sum([1 if length < 0 else length for length in template.lists])
        inputs = tuple([first - numbers.take() for _ in range(count)])
        draw = None
        if DRAWS in template.attrs:
            draw = Draw(*[int.from_bytes(numbers.content(8)) for _ in Draw._fields])
        return Run(template, inputs, first, draw, self._site)

    def _put(self, numbers: _Numbers, frame: Frame | None) -> Put:
        device, op, dtype, rank = (numbers.take() for _ in range(4))
        shape = tuple([numbers.take() for _ in range(rank)])
        content = numbers.content(numbers.take()) if frame is None else frame
        return Put(device, self._results(1), dtype, shape, content, self._texts[op], self._site)


DRAWS = '"\\u0000draws"'
"""Replaces the stream of a random op in the text of attributes; the record has the position."""


class _Numbers:
    """Reads numbers from bytes."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def take(self) -> int:
        """Returns the next number."""
        number = shift = 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            number |= (byte & 127) << shift
            if byte < 128:
                return number
            shift += 7

    def content(self, length: int) -> bytes:
        """Returns the next `length` bytes."""
        self.at += length
        return self.data[self.at - length : self.at]
