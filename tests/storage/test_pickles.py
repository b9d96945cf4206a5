"""Does the reader of opcodes build what Python's pickle builds, and nothing else?"""

from __future__ import annotations

import os
import pickle
import pickletools
from collections import OrderedDict
from fractions import Fraction
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import pytest

from nbtf._storage.pickles import load_pickle
from nbtf._storage.refusal import RefusedFileError
from tests.rings import seeds
from tests.sweeps import check_each

TEXTS = ("", "a", "ä€𝄞", "x" * 300, '\\n"\n\t\0', "\ud800")
NUMBERS = (0, 255, 256, 65535, 65536, -1, 2**31 - 1, 2**31, -(2**31), 2**63, 2**64, -(2**70), 2**3000, 1.5, -0.0, 1e300)


def plain(random: Random, shared: list[Any], depth: int = 0) -> Any:
    """Returns random plain data, parts of which are shared."""
    choice = random.randrange(12 if depth < 5 else 6)
    if choice < 6:
        return random.choice((None, True, False, *TEXTS, *NUMBERS, b"", b"abc", b"\0" * 300))
    if choice == 6 and shared:
        return random.choice(shared)
    parts = [plain(random, shared, depth + 1) for _ in range(random.choice((0, 1, 2, 3, 4, 1100 if depth == 0 else 1)))]
    value: Any = parts
    if choice > 9:
        keys = [random.choice((f"key{at}", at, (at, "x"), float(at), None, b"k")) for at in range(len(parts))]
        value = dict(zip(keys, parts, strict=True))
    elif choice == 8:
        value = tuple(parts)
    shared.append(value)
    return value


@pytest.mark.parametrize("seed", seeds(400))
def test_plain_data_are_as_python_reads_them(seed: int) -> None:
    random = Random(seed)
    values = [plain(random, []) for _ in range(12)]
    for value, protocol in product(values, range(6)):
        content = pickle.dumps(value, protocol)
        if b"_codecs" in content or b"__builtin__" in content:  # before protocol 3, bytes are calls of functions
            continue
        assert repr(pickle.loads(content)) == repr(load_pickle(content, "file")), protocol
        assert repr(value) == repr(load_pickle(pickletools.optimize(content), "file"))


class Evil:
    def __reduce__(self) -> Any:
        return os.listdir, ("/",)


OTHERS: dict[str, tuple[Any, str]] = {
    "a function": (os.getcwd, "posix.getcwd"),
    "a call": (Evil(), "posix.listdir"),
    "a class": (OrderedDict([(1, 2)]), "collections.OrderedDict"),
    "a number of a class": (Fraction(1, 2), "fractions.Fraction"),
    "a path": (Path("/"), "pathlib.P"),
    "a set": ({1, 2}, "set"),
    "a bytearray": (bytearray(b"x"), "bytearray"),
}


@pytest.mark.parametrize("protocol", range(6))
@pytest.mark.parametrize("name", OTHERS)
def test_everything_else_is_refused_by_its_name(name: str, protocol: int) -> None:
    value, asked = OTHERS[name]
    with pytest.raises(RefusedFileError, match=r"file\.pickle is not opened: .*opcode \w+ at byte") as caught:
        load_pickle(pickle.dumps([1, value], protocol), "file.pickle")

    assert asked in str(caught.value)


WRONG = {
    b"": "ends too early",
    b"\x80\x04": "ends too early",
    b".": "0 objects",
    b"NN.": "2 objects",
    b"(N.": "1 objects",
    b"\x80\x06N.": "protocol 6",
    b"\xfeN.": "opcode 0xfe is unknown",
    b"\x8e" + b"\xff" * 8 + b"x.": "bytes are announced, but 2 remain",
    b"\x8b\xff\xff\xff\xff.": "bytes are announced",
    b"h\x05.": "object 5 is used before it is stored",
    b"]\x94h\x00a.": "contains itself",
    b"]\x94h\x00Na.": "changed after it was used",
    b"]Nu.": "no MARK is open",
    b"Na.": "uses an object that is missing",
    b"(N\x85.": "object",
    b"}(]Nu.": "the key of a dictionary",
    b"}(Nu.": "has no value",
    b"]" * 300 + b"a" * 299 + b".": "more than 200 levels",
    b")" + b"\x85" * 300 + b".": "more than 200 levels",
    b"\x95" + b"\xff" * 8 + b"N.": "a frame of",
    b"I1": "a line has no end",
    b"Np-1\n.": "negative index",
    b"S1\n.": "no quotes",
    b"\x8c\x01\xff.": "cannot be read",
}


def test_damage_is_described() -> None:
    def check(content: bytes) -> None:
        with pytest.raises(RefusedFileError) as caught:
            load_pickle(content, "file")
        assert WRONG[content] in str(caught.value)

    check_each(WRONG, check)


def test_a_deep_chain_of_shared_lists_is_refused_without_recursion() -> None:
    chain = b"]\x94" + b"".join(b"]j" + number.to_bytes(4, "little") + b"a\x94" for number in range(50_000))
    with pytest.raises(RefusedFileError, match=r"levels|objects"):
        load_pickle(chain + b".", "file")


def test_lists_that_share_their_entries_are_read_once() -> None:
    laughs = b"]\x94" + b"".join(b"](" + (b"h%c" % number) * 20 + b"e\x94" for number in range(100)) + b"\x86" * 50
    with pytest.raises(RefusedFileError):
        load_pickle(laughs, "file")
    value = load_pickle(laughs[: laughs.index(b"\x86")].replace(b"]\x94](", b"(]\x94](", 1) + b"l.", "file")

    assert 101 == len(value)


def test_keys_whose_hashes_collide_are_limited() -> None:
    number = 2**61 - 1
    keys = b"".join(b"\x8a\x0c" + (number * key).to_bytes(12, "little") + b"N" for key in range(2, 20_000))
    with pytest.raises(RefusedFileError, match="small integers"):
        load_pickle(b"}(" + keys + b"u.", "file")
