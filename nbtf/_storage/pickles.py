"""Which plain data does a pickle contain? Reads its opcodes without running anything.

Plain data: None, booleans, integers, floats, strings, bytes, tuples, lists and dictionaries. An opcode that would look
up a name or call something is refused. Source of the opcodes: Lib/pickletools.py of CPython 3.14.
"""

from __future__ import annotations

import codecs
import struct
from collections.abc import Callable
from typing import Any

from nbtf._storage.pickle_machine import EXPECTED, Action, PickleReader
from nbtf._storage.refusal import RefusedFileError

# ---- one function for each opcode


def _push(value: Any) -> Action:
    """Returns the action that pushes a constant."""
    return lambda reader: reader.stack.append(value)


def _int(size: int, signed: bool = False) -> Action:
    """Returns the action that pushes an integer of `size` bytes."""
    return lambda reader: reader.stack.append(int.from_bytes(reader.take(size), "little", signed=signed))


def _byte(reader: PickleReader) -> None:  # not `_int(1)`, because half of all integers have one byte
    reader.stack.append(reader.content[reader.at])
    reader.at += 1


def _long(size: int) -> Action:
    """Returns the action that pushes an integer whose length is a number of `size` bytes."""
    return lambda reader: reader.stack.append(int.from_bytes(reader.take(reader.number(size)), "little", signed=True))


def _text(size: int) -> Action:
    """Returns the action that pushes a string whose length is a number of `size` bytes."""
    return lambda reader: reader.push(reader.take(reader.number(size)).decode("utf-8", "surrogatepass"))


def _bytes(size: int) -> Action:
    """Returns the action that pushes bytes whose length is a number of `size` bytes."""
    return lambda reader: reader.push(reader.take(reader.number(size)))


def _get(size: int) -> Action:
    """Returns the action that pushes a stored object."""

    def get(reader: PickleReader) -> None:  # the most frequent opcode, so it calls little
        at = reader.at
        end = reader.at = at + size
        if end > len(reader.content):
            reader.refuse("the index of a stored object is cut off")
        reader.stack.append(reader.get(int.from_bytes(reader.content[at:end], "little")))

    return get


def _get_near(reader: PickleReader) -> None:  # not `_get(1)`, because copied events have little else
    index = reader.content[reader.at]
    reader.at += 1
    reader.stack.append(reader.get(index))


def _put(size: int) -> Action:
    """Returns the action that stores an object under an index."""
    return lambda reader: reader.put(reader.number(size))


def _memoize(reader: PickleReader) -> None:
    memo = reader.memo
    memo[len(memo) + reader.skipped] = reader.stack[-1]


def _tuple_of(count: int) -> Action:
    """Returns the action that makes a tuple of the last objects."""
    return lambda reader: reader.push(tuple([reader.pop() for _ in range(count)][::-1]))


def _tuple(reader: PickleReader) -> None:
    reader.push(tuple(reader.items()))


def _list(reader: PickleReader) -> None:
    reader.push(reader.items())


def _empty_list(reader: PickleReader) -> None:
    reader.push([])


def _empty_dict(reader: PickleReader) -> None:
    reader.push({})


def _append(reader: PickleReader) -> None:
    value = reader.pop()
    reader.target(list).append(value)


def _appends(reader: PickleReader) -> None:
    items = reader.items()
    reader.target(list).extend(items)


def _set_item(reader: PickleReader) -> None:
    value, key = reader.pop(), reader.pop()
    _fill(reader, reader.target(dict), [key, value])


def _set_items(reader: PickleReader) -> None:
    items = reader.items()
    _fill(reader, reader.target(dict), items)


def _dict(reader: PickleReader) -> None:
    entries: dict[Any, Any] = {}
    _fill(reader, entries, reader.items())
    reader.push(entries)


def _fill(reader: PickleReader, target: dict[Any, Any], items: list[Any]) -> None:
    """Adds keys and values, which follow one another."""
    if len(items) % 2:
        reader.refuse("a key of a dictionary has no value")
    keys, values = items[::2], items[1::2]
    for key in keys:
        if type(key) is not str:
            reader.check_key(key)
    target.update(zip(keys, values, strict=True))


def _mark(reader: PickleReader) -> None:
    reader.marks.append(len(reader.stack))


def _pop(reader: PickleReader) -> None:
    reader.is_regular = False
    if reader.marks and reader.marks[-1] == len(reader.stack):
        reader.marks.pop()
    else:
        reader.stack.pop()


def _pop_mark(reader: PickleReader) -> None:
    reader.is_regular = False
    reader.items()


def _double(reader: PickleReader) -> None:
    reader.is_regular = False
    value = reader.pop()
    if type(value) in (list, dict):
        reader.refuse("a container is doubled")
    reader.stack += [value, value]


def _protocol(reader: PickleReader) -> None:
    if (protocol := reader.number(1)) > _NEWEST:
        reader.refuse(f"protocol {protocol} begins; expected at most {_NEWEST}")


def _frame(reader: PickleReader) -> None:
    size = reader.number(8)
    if size > len(reader.content) - reader.at:
        reader.refuse(f"a frame of {size:,} bytes begins, but {len(reader.content) - reader.at:,} remain")


def _float(reader: PickleReader) -> None:
    reader.stack.append(struct.unpack(">d", reader.take(8))[0])


def _float_line(reader: PickleReader) -> None:
    reader.stack.append(float(reader.line()))


def _int_line(reader: PickleReader) -> None:
    line = reader.line()
    reader.stack.append(line == b"01" if line in (b"00", b"01") else int(line))


def _long_line(reader: PickleReader) -> None:
    reader.stack.append(int(reader.line().removesuffix(b"L")))


def _string_line(reader: PickleReader) -> None:
    line = reader.line().strip()
    if len(line) < 2 or line[:1] != line[-1:] or line[:1] not in (b"'", b'"'):
        reader.refuse("a string has no quotes")
    reader.push(codecs.escape_decode(line[1:-1])[0].decode("ascii"))


def _unicode_line(reader: PickleReader) -> None:
    reader.push(reader.line().decode("raw-unicode-escape"))


def _old_string(size: int) -> Action:
    """Returns the action that pushes a string of Python 2."""
    return lambda reader: reader.push(reader.take(reader.number(size)).decode("ascii"))


def _get_line(reader: PickleReader) -> None:
    reader.stack.append(reader.get(int(reader.line())))


def _put_line(reader: PickleReader) -> None:
    index = int(reader.line())
    if index < 0:
        reader.refuse(f"an object is stored under the negative index {index}")
    reader.put(index)


_NEWEST = 5
_PLAIN: dict[str, Action] = {
    **{"N": _push(None), "\x88": _push(True), "\x89": _push(False), ")": _push(())},
    **{"K": _byte, "M": _int(2), "J": _int(4, signed=True), "\x8a": _long(1), "\x8b": _long(4), "G": _float},
    **{"\x8c": _text(1), "X": _text(4), "\x8d": _text(8), "C": _bytes(1), "B": _bytes(4), "\x8e": _bytes(8)},
    **{"h": _get_near, "j": _get(4), "q": _put(1), "r": _put(4), "\x94": _memoize},
    **{"\x85": _tuple_of(1), "\x86": _tuple_of(2), "\x87": _tuple_of(3), "t": _tuple, "l": _list, "d": _dict},
    **{"]": _empty_list, "}": _empty_dict, "a": _append, "e": _appends, "s": _set_item, "u": _set_items},
    **{"(": _mark, "0": _pop, "1": _pop_mark, "2": _double, "\x80": _protocol, "\x95": _frame},
    **{"F": _float_line, "I": _int_line, "L": _long_line, "S": _string_line, "V": _unicode_line},
    **{"T": _old_string(4), "U": _old_string(1), "g": _get_line, "p": _put_line},
}


# ---- what is refused


def _refusal(name: str, describe: Callable[[PickleReader], str]) -> Action:
    """Returns the action that refuses an opcode and names what it asked for."""

    def refuse(reader: PickleReader) -> None:
        at = reader.at - 1
        request = describe(reader)
        raise RefusedFileError(
            f"{reader.source} is not opened: its pickle asks for {request} (opcode {name} at byte {at:,}). {EXPECTED}"
        )

    return refuse


def _two_lines(reader: PickleReader) -> str:
    return ".".join(f"{reader.line().decode('utf-8', 'replace'):.80}" for _ in range(2))


def _two_strings(reader: PickleReader) -> str:
    return ".".join(f"{name!s:.80}" if type(name) is str else "?" for name in reader.stack[-2:]) or "a name"


def _a_line(reader: PickleReader) -> str:
    return f"the outside object {reader.line().decode('utf-8', 'replace'):.80}"


def _extension(size: int) -> Callable[[PickleReader], str]:
    return lambda reader: f"the class that is registered under number {reader.number(size)}"


def _named(text: str) -> Callable[[PickleReader], str]:
    return lambda reader: text


_REFUSED: dict[str, tuple[str, Callable[[PickleReader], str]]] = {
    "c": ("GLOBAL", _two_lines),
    "i": ("INST", _two_lines),
    "\x93": ("STACK_GLOBAL", _two_strings),
    "R": ("REDUCE", _named("a function call")),
    "b": ("BUILD", _named("an object's state")),
    "o": ("OBJ", _named("an object of a class")),
    "\x81": ("NEWOBJ", _named("an object of a class")),
    "\x92": ("NEWOBJ_EX", _named("an object of a class")),
    "P": ("PERSID", _a_line),
    "Q": ("BINPERSID", _named("an outside object")),
    "\x82": ("EXT1", _extension(1)),
    "\x83": ("EXT2", _extension(2)),
    "\x84": ("EXT4", _extension(4)),
    "\x8f": ("EMPTY_SET", _named("a set")),
    "\x90": ("ADDITEMS", _named("a set")),
    "\x91": ("FROZENSET", _named("a set")),
    "\x96": ("BYTEARRAY8", _named("a bytearray")),
    "\x97": ("NEXT_BUFFER", _named("an outside buffer")),
    "\x98": ("READONLY_BUFFER", _named("an outside buffer")),
}


def _unknown(reader: PickleReader) -> None:
    reader.at -= 1
    reader.refuse(f"the opcode {reader.content[reader.at]:#04x} is unknown")


def _table() -> tuple[Action, ...]:
    """Returns the action of each of the 256 opcodes."""
    refusals = {opcode: _refusal(name, describe) for opcode, (name, describe) in _REFUSED.items()}
    return tuple(_PLAIN.get(chr(code)) or refusals.get(chr(code)) or _unknown for code in range(256))


ACTIONS = _table()
"""The action of each opcode."""

PickleReader.actions = ACTIONS


def load_pickle(content: bytes, source: str) -> Any:
    """Returns the plain data of a pickle.

    Args:
      content: the pickle, of protocol 0 to 5.
      source: the file that errors name.

    Raises:
      RefusedFileError: if the pickle is damaged, asks for anything but plain data, or is too deep or too large.

    >>> import pickle
    >>> from nbtf._storage.pickles import load_pickle
    >>> load_pickle(pickle.dumps({"segments": [1, 2.5, None]}), "file.pickle")
    {'segments': [1, 2.5, None]}
    """
    return PickleReader(content, source).load()
