"""Does `%gpu_memory --who` name whoever holds memory, and does the line beside it free the memory?"""

from __future__ import annotations

import gc
import string
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import nbtf as tf
from nbtf._runtime.context import CURRENT
from nbtf.notebook.holders.garbage import HELD_BY_CYCLES
from tests.machines import SCRATCH
from tests.notebook.conftest import ENOUGH, Shell

BIG = 4 * 500 * 100


@pytest.fixture(autouse=True)
def time_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine may be busy."""
    monkeypatch.setattr("nbtf.notebook.holders.table.SECONDS", ENOUGH)


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
    "a part of a variable": (
        ["v = tf.Variable(tf.ones([500, 100]))", "part = v[:0]", "del v"],
        "part.assign.func.__self__",
        ["%xdel part"],
    ),
    "an object of nbtf": (
        ["r = tf.IndexedSlices({}, [0])"],
        "r.values",
        ["%xdel r"],
    ),
    "a long list": (["a = [0] * 200_000", "a.append({})"], "a[…]", ["%xdel a"]),
    "a tape": (
        [
            "x = {}",
            "with tf.GradientTape(persistent=True) as tape:",
            "    tape.watch(x)",
            "    y = tf.reduce_sum(tf.tanh(x))",
            "del x, y",
        ],
        "tape (GradientTape)",
        ["%xdel tape"],
    ),
    "a mirrored variable": (
        ["with tf.distribute.OneDeviceStrategy('GPU:0').scope():", "    v = tf.Variable({})"],
        "v",
        ["%xdel v"],
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


# Where a search begins


def test_local_of_a_failed_function_is_named_and_freed(shell: Shell) -> None:
    shell.run("def train(batch):", "    loss = tf.reduce_sum(batch)", "    raise ValueError('no')")
    shell.run(f"train({MAKE})")
    (row,) = rows(shell)

    assert ("local `batch` of `train` (last error)", ["%gpu_memory --forget-last-error"]) == (
        row["holder"],
        row["frees"],
    )
    run(shell, row["frees"])
    assert SCRATCH == in_use()


def test_errors_that_caused_the_last_one_are_forgotten_with_it(shell: Shell) -> None:
    shell.run(
        "def inner():",
        f"    x = {MAKE}",
        "    1/0",
        "def outer():",
        "    try:",
        "        inner()",
        "    except ZeroDivisionError:",
        "        raise KeyError",
        "outer()",
    )
    (row,) = rows(shell)

    assert "local `x` of `inner` (last error)" == row["holder"]
    run(shell, row["frees"])
    assert SCRATCH == in_use()


def test_inputs_of_an_op_that_failed_are_those_of_nbtf(shell: Shell) -> None:
    shell.run(f"tf.matmul({MAKE}, {MAKE})")
    found = rows(shell, "--all")

    assert 2 == len(found)
    assert all(row["holder"].endswith("(last error)") and "nbtf's `" in row["holder"] for row in found)
    run(shell, found[0]["frees"])
    assert SCRATCH == in_use()


def test_garbage_that_was_not_collected_yet_is_told(shell: Shell) -> None:
    code = (
        f"    x = {MAKE}",
        "    try:",
        "        1/0",
        "    except ZeroDivisionError as error:",
        "        kept = error",
    )
    gc.disable()
    try:
        shell.run("def f():", *code, "f()")
        (row,) = rows(shell)
    finally:
        gc.enable()

    assert (HELD_BY_CYCLES, ["import gc; gc.collect()"]) == (row["holder"], row["frees"])
    run(shell, row["frees"])
    assert SCRATCH == in_use()


def test_variable_of_a_module_of_the_user_is_named(shell: Shell) -> None:
    Path("mymodel.py").write_text(f"import nbtf as tf\nweights = {MAKE}\ndef use(): pass\n")
    shell.run("import sys; sys.path.insert(0, '')", "from mymodel import use")
    try:
        (row,) = rows(shell)

        assert ("mymodel.weights", ["import mymodel; del mymodel.weights"]) == (row["holder"], row["frees"])
        run(shell, row["frees"])
        assert SCRATCH == in_use()
    finally:
        del sys.modules["mymodel"]
        sys.path.remove("")


def test_variable_of_a_script_is_freed_from_where_ipython_keeps_it(shell: Shell) -> None:
    Path("script.py").write_text(f"import nbtf as tf\nx = {MAKE}\n")
    shell.run("%run script.py")
    (row,) = rows(shell)

    assert ("x", ["%xdel x"]) == (row["holder"], row["frees"])
    run(shell, row["frees"])
    assert SCRATCH == in_use()


def test_variable_of_a_function_that_runs_has_no_line_that_frees_it(shell: Shell) -> None:
    ran = shell.run(
        "def f():",
        f"    x = {MAKE}",
        "    return get_ipython().run_line_magic('gpu_memory', '--who')",
        "f()",
    )
    row = ran.result.to_dict()["rows"][0]

    assert ("local `x` of `f` (running)", None) == (row["holder"], row["frees"])
    assert SCRATCH == in_use()


def test_variable_of_another_thread_is_named_and_not_kept_alive(shell: Shell) -> None:
    shell.run(
        "import threading",
        "ready, go, gone = threading.Event(), threading.Event(), threading.Event()",
        "def work():",
        f"    x = {MAKE}",
        "    ready.set(); go.wait()",
        "    x = None",
        "    gone.set(); done.wait()",
        "done = threading.Event()",
        "thread = threading.Thread(target=work, daemon=True)",
        "thread.start(); ready.wait();",
    )
    (row,) = rows(shell)
    shell.run("go.set(); gone.wait();")
    left = in_use()
    shell.run("done.set(); thread.join()")

    assert "local `x` of `work` (running)" == row["holder"]
    assert SCRATCH == left


def test_looking_into_a_generator_keeps_nothing_alive(shell: Shell) -> None:
    shell.run("def g():", f"    x = {MAKE}", "    yield 1", "    x = None", "    yield 2", "it = g()", "next(it);")
    found = rows(shell)
    shell.run("next(it);")

    assert "local `x` of `g` (generator `it`)" == found[0]["holder"]
    assert SCRATCH == in_use()


@pytest.fixture
def unreached() -> Iterator[None]:
    """A module that no user wrote: searches do not enter it."""
    yield
    delattr(string, "kept")


def test_what_nobody_reachable_holds_is_told_with_op_shape_and_line(shell: Shell, unreached: None) -> None:
    shell.run("import string", f"string.kept = {MAKE}")
    (row,) = rows(shell)

    assert ("not found: held by an object that the search did not reach", None) == (row["holder"], row["frees"])
    assert ("[500, 100] float32", "Fill", f"cell 1, line 2: string.kept = {MAKE}") == (
        row["tensor"],
        row["op"],
        row["code"],
    )


def test_holder_that_something_else_holds_too_has_no_line(shell: Shell, unreached: None) -> None:
    shell.run("import string", f"x = string.kept = {MAKE}")
    (row,) = rows(shell)

    assert ("x; and an object that the search did not reach", None) == (row["holder"], row["frees"])


# What is told


def test_what_was_made_while_nobody_recorded_is_told_without_its_line(bare: Shell) -> None:
    bare.run(f"x = {MAKE}")
    bare.run("%load_ext nbtf")
    table = bare.run("%gpu_memory --who").result
    (row,) = [row for row in table.to_dict()["rows"] if row["nbytes"] >= BIG]

    assert ("x", "Fill", "[500, 100] float32", "") == (row["holder"], row["op"], row["tensor"], row["code"])
    assert "Code lines are known only for tensors created while recording" in repr(table)


def test_entries_of_a_list_are_one_row(shell: Shell) -> None:
    shell.run(f"losses = [{MAKE} for _ in range(20)]")
    (row,) = rows(shell)

    assert ("losses (20 tensors)", ["%xdel losses"]) == (row["holder"], row["frees"])
    assert [f"losses[{index}]" for index in range(20)] == sorted(
        (part["holder"] for part in row["parts"]), key=lambda name: int(name[7:-1])
    )
    assert in_use() == SCRATCH + row["nbytes"]
    run(shell, row["frees"])
    assert SCRATCH == in_use()


def test_largest_comes_first(shell: Shell) -> None:
    shell.run("a = tf.ones([500, 100]); b = tf.ones([900, 100]); c = tf.ones([700, 100])")

    assert ["b", "c", "a"] == [row["holder"] for row in rows(shell)]


def test_only_the_gpus_that_are_named_are_told(shell: Shell) -> None:
    shell.run(f"x = {MAKE}")
    shell.run("%%device GPU:1", f"y = {MAKE}")

    assert ["y"] == [row["holder"] for row in rows(shell, "GPU:1")]
    assert ["x"] == [row["holder"] for row in rows(shell, "GPU:0")]


def test_names_are_data(shell: Shell) -> None:
    name = "<img src=x onerror=alert(1)>"
    shell.run(f"d = {{{name!r}: {MAKE}}}", f"globals()[{name!r}] = {MAKE}")
    table = shell.run("%gpu_memory --who").result

    assert {f"d['{name}']", f"globals()['{name}']"} == {row["holder"] for row in rows(shell)}
    assert "<img" not in table._repr_html_()
    for row in rows(shell):
        run(shell, row["frees"])
    assert SCRATCH == in_use()


def test_nothing_is_started_or_fixed_by_looking(shell: Shell) -> None:
    assert "Nothing is in use." == repr(shell.run("%gpu_memory --who").result)
    assert None is CURRENT.context.machine


def test_cell_that_runs_out_of_memory_ends_with_where_to_look(shell: Shell) -> None:
    ran = shell.run("%%device GPU:1", "x = tf.ones([1024, 1024, 1024])")

    assert isinstance(ran.error, tf.errors.ResourceExhaustedError)
    assert ran.out.endswith("%gpu_memory --who lists what holds the memory of GPU:1. %explain explains the error.\n")


def test_cell_that_fails_otherwise_ends_as_it_does(shell: Shell) -> None:
    assert "--who" not in shell.run("1/0").out


def test_forgetting_says_what_it_freed(shell: Shell) -> None:
    shell.run("def f():", "    x = tf.ones([1024, 256])", "    1/0", "f()")

    out = shell.run("%gpu_memory --forget-last-error").out
    assert "The last error is forgotten: 1 MiB (1,048,576 B) of GPU:0 (simulated) freed.\n" == out
    assert "No error to forget.\n" == shell.run("%gpu_memory --forget-last-error").out
    assert "No traceback available to show." in shell.run("%tb").out


def test_forgetting_leaves_a_generator_alone_that_still_waits(shell: Shell) -> None:
    shell.run(
        "def g():",
        "    try:",
        "        yield 1",
        "    except ValueError as error:",
        "        kept.append(error)",
        "        yield 2",
        "    yield 3",
        "kept, it = [], g()",
        "next(it); it.throw(ValueError('thrown'));",
    )
    shell.run("raise kept[0]")
    shell.run("%gpu_memory --forget-last-error")

    assert 3 == shell.run("next(it)").result


def test_weights_of_a_model_have_the_names_that_its_user_knows(shell: Shell) -> None:
    shell.run(
        "layers = [tf.keras.layers.Dense(200, input_shape=(300,)), tf.keras.layers.Dense(300)]",
        "model = tf.keras.Sequential(layers); del layers",
    )
    found = rows(shell, "--all")

    assert {"model.layers[0].kernel", "model.layers[1].kernel"} == {row["holder"] for row in found}
    run(shell, found[0]["frees"])
    assert SCRATCH == in_use()


def test_weights_of_a_model_that_the_user_wrote_are_named_by_its_attributes(shell: Shell) -> None:
    shell.run(
        "class Model(tf.keras.Model):",
        "    def __init__(self):",
        "        super().__init__()",
        "        self.blocks = [tf.keras.layers.Dense(200)]",
        "    def call(self, x): return self.blocks[0](x)",
        "model = Model()",
        "model(tf.ones([1, 300]));",
    )
    (row,) = rows(shell, "--all")

    assert "model.blocks[0].kernel" == row["holder"]
    run(shell, row["frees"])
    assert SCRATCH == in_use()


def test_slots_of_an_optimizer_are_named_by_their_weights(shell: Shell) -> None:
    shell.run(
        "v = tf.keras.Variable(tf.ones([500, 100]), name='w')",
        "opt = tf.keras.optimizers.SGD(momentum=0.9)",
        "opt.build([v])",
    )
    each = {row["holder"] for row in rows(shell, "--all")}
    found = {row["holder"]: row["frees"] for row in rows(shell)}

    assert ({"v", "w · momentum"}, {"v", "opt: optimizer state (3 tensors)"}) == (each, set(found))
    run(shell, found["opt: optimizer state (3 tensors)"])
    assert ["v"] == [row["holder"] for row in rows(shell)]


def test_errors_of_a_group_are_forgotten_with_it(shell: Shell) -> None:
    shell.run(
        "def f():",
        f"    x = {MAKE}",
        "    1/0",
        "try:",
        "    f()",
        "except ZeroDivisionError as error:",
        "    raise ExceptionGroup('some', [error]) from None",
    )
    (row,) = rows(shell)

    assert "local `x` of `f` (last error)" == row["holder"]
    run(shell, row["frees"])
    assert SCRATCH == in_use()


def test_table_is_shown_as_text_as_html_and_as_data(shell: Shell) -> None:
    shell.run(f"x = {MAKE}")
    table = shell.run("%gpu_memory --who GPU:0").result
    first = {"holder": "x", "device": "GPU:0", "nbytes": 200_192, "tensor": "[500, 100] float32", "op": "Fill"}
    rest = {"pieces": 1, "names": ["x"], "views": [], "frees": ["%xdel x"], "code": f"cell 1, line 1: x = {MAKE}"}

    assert first | rest == table.to_dict()["rows"][0]
    assert ">%xdel x</td>" in table._repr_html_()
    assert ["holder", "device", "bytes", "tensor", "made by", "code line", "frees it"] == [
        column.title for column in table.columns
    ]


def test_a_look_at_many_pieces_takes_no_time_from_the_search(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    shell.run(f"x = {MAKE}")
    seconds = [0.0]
    clock = types.SimpleNamespace(monotonic=lambda: seconds[0])
    for module in ("holders", "search"):
        monkeypatch.setattr(f"nbtf.notebook.holders.{module}.time", clock)
    look = tf.runtime.memory_pieces

    def look_long(device: str) -> Any:
        seconds[0] += 2 * ENOUGH
        return look(device)

    monkeypatch.setattr(tf.runtime, "memory_pieces", look_long)

    assert ["x"] == [row["holder"] for row in rows(shell)]
    assert seconds[0]
