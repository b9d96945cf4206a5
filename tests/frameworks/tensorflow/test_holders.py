"""What holds TensorFlow's memory, and does each printed line free it? On logical CPUs that pass for cards."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest

from nbtf._frameworks.base import Pool
from nbtf._frameworks.tensorflow import memory
from tests.frameworks.tensorflow.conftest import Accounts
from tests.notebook.conftest import Shell

pytestmark = pytest.mark.usefixtures("cards")

MODEL = (
    "import tensorflow as tf, keras",
    "net = keras.Sequential([keras.Input((30,)), keras.layers.Dense(40, 'relu'), keras.layers.Dense(10)])",
)
STEP = (
    *MODEL,
    "data = tf.ones([8, 30]) + 1; opt = keras.optimizers.Adam()",
    "with tf.GradientTape() as tape: loss = tf.reduce_sum(net(data))\n"
    "grads = tape.gradient(loss, net.trainable_variables)\n"
    "opt.apply_gradients(zip(grads, net.trainable_variables)); del loss, tape",
)

PROGRAMS: dict[str, tuple[tuple[str, ...], dict[str, list[str] | None]]] = {
    "a variable": (("import tensorflow as tf", "x = tf.ones([100]) + 1"), {"x": ["%xdel x"]}),
    "a view, and no name for what it shows": (
        ("import tensorflow as tf", "x = (tf.range(4096.0) + 1)[1024:]"),
        {"x": ["%xdel x"]},
    ),
    "two names of one tensor's memory": (
        ("import tensorflow as tf", "x = tf.range(4096.0) + 1; y = tf.identity(x)"),
        {"x, y": ["%xdel x", "%xdel y"]},
    ),
    "a view beside what it shows": (
        ("import tensorflow as tf", "x = tf.range(4096.0) + 1; y = x[1024:2048]"),
        {"x, y": ["%xdel x", "%xdel y"]},
    ),
    "a list": (
        ("import tensorflow as tf", "a = [tf.ones([50]) + n for n in range(12)]"),
        {"a (12 tensors)": ["%xdel a"]},
    ),
    "a tf.Variable": (("import tensorflow as tf", "v = tf.Variable(tf.ones([50]) + 1)"), {"v": ["%xdel v"]}),
    "a variable and a tensor that was read from it": (
        ("import tensorflow as tf", "v = tf.Variable(tf.ones([50]) + 1); w = v.read_value()"),
        {"w, v": ["%xdel w", "%xdel v"]},
    ),
    "a module": (
        ("import tensorflow as tf", "m = tf.Module(); m.w = tf.Variable(tf.ones([50]) + 1)"),
        {"m.w": ["%xdel m"]},
    ),
    "a sparse tensor": (
        ("import tensorflow as tf", "s = tf.sparse.from_dense(tf.ones([3, 9]) + 1)"),
        {"s (3 tensors)": ["%xdel s"]},
    ),
    "a training step": (
        STEP,
        {
            "net: weights (4 tensors)": ["%xdel net", "%xdel opt", "import gc; gc.collect()"],
            "opt: optimizer state (10 tensors)": ["%xdel opt"],
            "grads (4 tensors)": ["%xdel grads"],
            "data": ["%xdel data"],
        },
    ),
    "a tape that was not asked for gradients": (
        (
            "import tensorflow as tf",
            "x = tf.ones([64, 64]) + 1",
            "with tf.GradientTape() as tape:\n    tape.watch(x)\n    y = tf.exp(tf.sin(x) * 2.0)",
        ),
        {"tape: kept by the tape (2 tensors)": ["%xdel tape"], "x": None, "y": None},
    ),
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_rows_name_the_holder_and_the_lines_that_free_it(shell: Shell, program: str) -> None:
    cells, expected = PROGRAMS[program]
    for cell in cells:
        assert shell.run(cell).error is None

    rows = {row["holder"]: row["frees"] for row in shell.run("%gpu_memory --who").result.rows}

    assert expected == {holder: rows.get(holder, "no such row") for holder in expected}, rows


@pytest.mark.parametrize("program", PROGRAMS)
def test_lines_free_what_they_stand_beside(shell: Shell, program: str) -> None:
    for cell in PROGRAMS[program][0]:
        shell.run(cell)
    rows = shell.run("%gpu_memory --who").result.rows
    lines = {row["holder"]: row["frees"] for row in rows if row["frees"]}

    assert bool(lines) == any(PROGRAMS[program][1].values())
    for holder, frees in lines.items():
        shell.ip.reset()
        for cell in PROGRAMS[program][0]:
            shell.run(cell)
        for line in frees:
            assert shell.run(f"{line};" if line[0] != "%" else line).error is None
        gc.collect()
        shell.ip.user_ns.pop("_", None)
        left = {row["holder"] for row in shell.run("%gpu_memory --who").result.rows}
        assert holder not in left


MODELS = {
    "Sequential": (MODEL[1], ["net.layers[0].kernel", "net.layers[1].bias"]),
    "Sequential without an input": (
        "net = keras.Sequential([keras.layers.Dense(40), keras.layers.Dense(10)]); net.build((None, 30))",
        ["net.layers[0].kernel", "net.layers[1].bias"],
    ),
    "functional": (
        "i = keras.Input((30,)); net = keras.Model(i, keras.layers.Dense(10)(keras.layers.Dense(40)(i)))",
        ["net.layers[1].kernel", "net.layers[2].bias"],
    ),
    "subclass": (
        "class Net(keras.Model):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.first = keras.layers.Dense(40)\n"
        "    def call(self, x):\n"
        "        return self.first(x)\n"
        "net = Net(); _ = net(tf.ones([2, 30]))",
        ["net.first.kernel", "net.first.bias"],
    ),
    "statistics": (
        "net = keras.Sequential([keras.Input((30,)), keras.layers.BatchNormalization()])",
        ["net.layers[0].gamma", "net.layers[0].moving_mean"],
    ),
    "nested": (
        "net = keras.Sequential([keras.Input((30,)), keras.Sequential([keras.Input((30,)), keras.layers.Dense(4)])])",
        ["net.layers[0].layers[0].kernel"],
    ),
}


@pytest.mark.parametrize("model", MODELS)
def test_weights_are_called_by_a_path_that_a_user_can_type(shell: Shell, model: str) -> None:
    source, expected = MODELS[model]
    shell.run(MODEL[0])
    assert shell.run(source).error is None

    rows = {row["holder"]: row for row in shell.run("%gpu_memory --who --all").result.rows}

    assert set(expected) <= set(rows)
    for name in expected:
        shape = tuple(shell.run(name).result.shape)
        assert rows[name]["tensor"] == f"{list(shape)} float32 (TensorFlow)"


def test_slots_are_called_by_the_optimizer(shell: Shell) -> None:
    for cell in STEP:
        shell.run(cell)

    holders = {row["holder"] for row in shell.run("%gpu_memory --who --all").result.rows}

    assert {"opt._momentums[0]", "opt._velocities[0]", "opt.iterations"} <= holders


def test_the_rest_of_the_pool_has_no_name(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    gc.collect()  # cycles of earlier tests would have rows of their own in this small pool
    monkeypatch.setattr(memory, "pools", lambda tf: [Pool("cuda:0", 4096, 4096, 8192, None)])
    shell.run("import tensorflow as tf; x = tf.ones([100]) + 1")

    rows = {row["holder"]: row["nbytes"] for row in shell.run("%gpu_memory --who").result.rows}

    assert rows["x"] == 512
    assert rows["TensorFlow: arrays without a name"] == 4096 - 512


def test_a_look_keeps_nothing_alive(shell: Shell) -> None:
    shell.run("import tensorflow as tf; x = tf.ones([100]) + 1; v = tf.Variable(x + 1)")
    kept = [weakref.ref(shell.ip.user_ns[name]) for name in "xv"]

    shell.run("%gpu_memory --who;")
    shell.run("del x, v")
    gc.collect()

    assert [each() for each in kept] == [None, None]


def test_holding_is_public(shell: Shell, real: Any) -> None:
    import nbtf

    x = real.range(4096.0) + 1
    y = real.identity(x)

    held = nbtf.runtime.holding(y)

    assert held is not None
    assert held == nbtf.runtime.holding(x)
    assert (held.device, held.nbytes, held.sharers) == ("cuda:0", 16384, 2)
    v = real.Variable(x + 1)
    assert nbtf.runtime.holding(v).requested == 16384  # pyright: ignore[reportOptionalMemberAccess]
    assert nbtf.runtime.holding(real.constant("text")) is None


def test_a_cell_that_fills_a_card_is_told_what_to_type(shell: Shell, accounts: Accounts) -> None:
    shell.run("import tensorflow as tf")

    text = "OOM when allocating tensor on /job:localhost/replica:0/task:0/device:GPU:1 by allocator GPU_1_bfc"
    said = shell.run(f"raise tf.errors.ResourceExhaustedError(None, None, {text!r})").out

    assert "%gpu_memory --who lists what holds the memory of cuda:1." in said
    said = shell.run("raise tf.errors.ResourceExhaustedError(None, None, 'OOM on /device:CPU:0 by allocator cpu')").out
    assert "%gpu_memory --who" not in said
