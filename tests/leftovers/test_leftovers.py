"""Does a block change what comes after it? A share of `python -m tests.leftovers`, and whether all blocks are tried."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from types import FunctionType, ModuleType
from typing import Any

import nbtf as tf
from tests.leftovers.answers import answers_after, differences, entry_points
from tests.leftovers.blocks import BLOCKS, PROCESSES, cases

BLOCK_WORDS = ("AbstractContextManager", "Change[", "changing[", "within", "Generator[None]")
"""What the annotation of a function says that returns a block."""

OURS = frozenset({"tf.Graph.inside", "tf.Graph.outermost", "tf.Graph.grouped_with", "tf.keras.datasets.refusing"})
"""Blocks that only the package opens."""

TEST_CASES = frozenset({"tf.test.TestCase.assertRaisesWithPredicateMatch"})
"""Blocks that change nothing: they look at the error that leaves them."""

FILES = frozenset({"tf.io.gfile.GFile", "tf.compat.v1.gfile.Open", "tf.io.TFRecordWriter"})
"""Files that are closed at the end of a block, and change nothing else."""


def public_blocks() -> dict[int, str]:
    """Returns all public context managers and functions that return one: the shortest name of each by its code."""
    names: dict[int, str] = {}
    for name, value in _public(tf, "tf", set()):
        for path, function in ((name, value), *_methods(name, value)):
            if _opens_a_block(function):
                key = id(getattr(inspect.unwrap(function), "__code__", function))
                names[key] = min(names.get(key, path), path, key=len)
    return names


def _public(module: ModuleType, path: str, seen: set[int]) -> Iterator[tuple[str, Any]]:
    if id(module) in seen:
        return
    seen.add(id(module))
    for name in sorted(name for name in dir(module) if name[0] != "_"):
        value = getattr(module, name, None)
        if isinstance(value, ModuleType) and value.__name__.startswith("nbtf") and value.__name__ != "nbtf.notebook":
            yield from _public(value, f"{path}.{name}", seen)
        elif isinstance(value, type | FunctionType) and value.__module__.startswith("nbtf"):
            yield f"{path}.{name}", value


def _methods(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    for method in dir(value) if isinstance(value, type) else ():
        function = inspect.getattr_static(value, method)
        if method[0] != "_" and isinstance(function, FunctionType):
            yield f"{name}.{method}", function


def _opens_a_block(value: Any) -> bool:
    if isinstance(value, type):
        return hasattr(value, "__enter__")
    return any(word in str(inspect.unwrap(value).__annotations__.get("return")) for word in BLOCK_WORDS)


def test_every_public_block_is_tried() -> None:
    tried = {name.partition(",")[0].partition(" ")[0] for name in BLOCKS} | PROCESSES | OURS | FILES | TEST_CASES
    titles = {name.rpartition(".")[2] for name in tried}
    blocks = sorted(public_blocks().values())

    assert len(blocks) > 25
    assert [] == [name for name in blocks if name.rpartition(".")[2] not in titles]


def test_what_comes_after_all_blocks_is_what_comes_after_none() -> None:
    calls = entry_points(0)

    def leave_all() -> None:
        for name, leave in cases().items():
            if name.endswith((": nothing", ": failing op", ": interrupt")) or ": " not in name:
                _ended(leave)

    expected = answers_after(lambda: None, calls)

    assert len(expected) == len(calls) > 30
    assert {} == differences(expected, answers_after(leave_all, calls))


def _ended(leave: Callable[[], Any]) -> None:
    try:
        leave()
    except BaseException:  # of the body, or of a block that refuses
        pass
    tf.runtime.end_cell()


def test_every_block_runs_its_body() -> None:
    def bodies() -> list[str]:
        lazy: list[str] = []
        for name, block in BLOCKS.items():
            runs: list[int] = []
            block(lambda runs=runs: runs.append(1))
            lazy += [] if runs else [name]
        return lazy

    (answer,) = answers_after(lambda: None, {"bodies": bodies}).values()

    assert answer.partition("\n")[0] == "", "an error, or the blocks that ran no body"
