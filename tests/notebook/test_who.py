"""Does `%gpu_memory --who` name whoever holds memory, and does the line beside it free the memory?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import nbtf as tf
from tests.machines import SCRATCH
from tests.notebook.conftest import Shell

BIG = 4 * 500 * 100


def in_use() -> int | None:
    return next(device.in_use for device in tf.runtime.devices() if device.name == "GPU:0")


def rows(shell: Shell, options: str = "") -> list[dict[str, Any]]:
    """The rows of what has a size like no other here."""
    return [row for row in shell.run(f"%gpu_memory --who {options}").result.to_dict()["rows"] if row["nbytes"] >= BIG]


def run(shell: Shell, lines: list[str]) -> None:
    for line in lines:
        ran = shell.run(line)
        assert (None, "Error" in ran.out) == (ran.error, False)


MAKE = "tf.ones([500, 100])"

KINDS = {
    "a variable": (["x = {}"], "x", ["%xdel x"]),
    "two variables": (["x = {}", "y = x"], "x, y", ["%xdel x"]),
    "a tf.Variable": (["v = tf.Variable({})"], "v", ["%xdel v"]),
    "an output": (["{}"], "Out[1], one of _, __, ___, _1", ["%xdel _1"]),
    "a displayed variable": (["x = {}", "x"], "x, Out[2], one of _, __, ___, _2", ["%xdel x"]),
    "a displayed, then deleted one": (["x = {}", "x", "del x"], "Out[2], one of _, __, ___, _2", ["%xdel _2"]),
    "an output without its names": (
        ["{}", "del _, _1"],
        "Out[1], one of _, __, ___",
        ["held = Out[1]", "%xdel held"],
    ),
    "an output that only IPython has": (
        ["{}", "del _, _1, Out[1]"],
        "one of _, __, ___",
        ["held = get_ipython().user_ns_hidden['_1']", "%xdel held"],
    ),
    "a view of it": (["x = {}", "y = tf.reshape(x, [50, 1000])"], "x; the same memory: y", ["%xdel x", "%xdel y"]),
    "a list": (["a = [0, {}]"], "a[1]", ["a[1] = None"]),
    "twice in a list": (["a = [{}]", "a += a"], "a[0], a[1]", ["a[0] = None", "a[1] = None"]),
    "a path": (["b = [0, 0, 0, {{'x': {}}}]"], "b[3]['x']", ["del b[3]['x']"]),
    "a variable and a list": (["x = {}", "a = [x]"], "x, a[0]", ["a[0] = None", "%xdel x"]),
    "a list with two names": (["a = [{}]", "b = a"], "a[0], b[0]", ["a[0] = None"]),
    "a tuple": (["t = (0, {})"], "t[1]", ["%xdel t"]),
    "a named tuple": (["import collections", "t = collections.namedtuple('T', 'x y')(0, {})"], "t.y", ["%xdel t"]),
    "a deque": (["import collections", "q = collections.deque([{}])"], "q[0]", ["q[0] = None"]),
    "a key of another type": (["d = {{(1, 2): {}}}"], "d[<tuple>]", ["%xdel d"]),
    "a long key": (["d = {{'k' * 200: {}}}"], f"d['{'k' * 59}…']", ["%xdel d"]),
    "an attribute": (
        ["class Model: pass", "model = Model()", "model.layers = [0, Model()]", "model.layers[1].kernel = {}"],
        "model.layers[1].kernel",
        ["del model.layers[1].kernel"],
    ),
    "a slot": (["class S: __slots__ = ('x',)", "s = S()", "s.x = {}"], "s.x", ["del s.x"]),
    "an attribute that its class guards": (
        ["class G:", "    def __delattr__(self, name): print('no')", "g = G()", "g.x = {}"],
        "g.x",
        ["%xdel g"],
    ),
    "an attribute of a class": (["class C: cache = {}"], "C.cache", ["del C.cache"]),
    "a closure": (["def outer(x):", "    return lambda: x", "step = outer({})"], "step.<closure> x", ["%xdel step"]),
    "a default": (["def f(a, x={}): pass"], "f.<default> x", ["%xdel f"]),
    "a keyword's default": (["def f(*, x={}): pass"], "f.<default> x", ["%xdel f"]),
    "a method": (
        ["class M:", "    def __init__(self): self.x = {}", "    def call(self): pass", "call = M().call"],
        "call.__self__.x",
        ["del call.__self__.x"],
    ),
    "a partial": (["import functools", "p = functools.partial(print, {})"], "p.args[0]", ["%xdel p"]),
    "a cache": (
        ["import functools", "@functools.lru_cache", "def f(): return {}", "f();"],
        "f.<cache>",
        ["f.cache_clear()"],
    ),
    "a generator": (
        ["def g():", "    x = {}", "    yield 1", "    yield x", "it = g()", "next(it);"],
        "local `x` of `g` (generator `it`)",
        ["%xdel it"],
    ),
    "a reference": (["r = {}.ref()"], "r.deref()", ["%xdel r"]),
    "an array of objects": (
        ["import numpy as np", "a = np.empty(2, object)", "a[1] = {}"],
        "a[1]",
        ["a[1] = None"],
    ),
    "an object that knows its owner": (
        ["class N: pass", "n = N()", "n.me = (n, {})"],
        "n.me[1]",
        ["del n.me"],
    ),
    "a cycle with a name": (
        ["c = []", "c.append((c, {}))", "c = c[0]"],
        "c[1]",
        ["c[0][0] = None", "%xdel c"],
    ),
    "a function that knows itself": (
        ["def outer(x):", "    def step(): return step, x", "    return step", "step = outer({})"],
        "step.<closure> x",
        ["%xdel step", "import gc; gc.collect()"],
    ),
    "a caught error": (
        ["def f():", "    x = {}", "    1/0", "try:", "    f()", "except ZeroDivisionError as e:", "    err = e"],
        "local `x` of `f` (error `err`)",
        ["%xdel err"],
    ),
    "what is in a variable of a function that failed": (
        ["def f():", "    x = [{}]", "    1/0", "f()"],
        "local `x[0]` of `f` (last error)",
        ["%gpu_memory --forget-last-error"],
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_holder_is_named_and_the_line_beside_it_frees_it(shell: Shell, kind: str) -> None:
    cells, holder, lines = KINDS[kind]
    before = SCRATCH
    code = [cell.format(MAKE) for cell in cells]
    if any(line.endswith(":") or line.startswith((" ", "@")) for line in code):
        shell.run(*code)
    else:
        for cell in code:
            shell.run(cell)

    (row,) = rows(shell)

    assert (holder, lines) == (row["holder"], row["frees"])
    assert in_use() == before + row["nbytes"]
    run(shell, row["frees"])
    assert before == in_use()
