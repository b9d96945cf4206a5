"""Are the figures in the texts of lessons 16, 17 and 18 right, and do their cells print them?"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nbtf as tf
from tests.course.scenarios import NOTEBOOKS

nbformat = pytest.importorskip("nbformat", reason='needs the extra "lab"')

TIMING, BYTES, SHARDING = "16_asynchrony_and_timing", "17_sixteen_bytes_per_parameter", "18_sharding"
STATED = {
    TIMING: {"1.54 ms": "1.54 ms", "0.20 ms": "0.20 ms", "waits twenty times": "20 copies to the host"},
    BYTES: {
        "32 products instead of 23": "5.00 MiB of activations, 32 products",
        "still 16": "mixed_float16: 16.0 bytes",
        "112 GB": "training 112 GB",
        "(2 MiB) and of the input (2.5 MiB)": "autocast 14.5 MiB",
    },
    SHARDING: {
        "4 + 4 + 2 is 10": "stage 1: [10.0, 10.0, 10.0, 10.0]",
        "stage 3 cuts the weights to 1 MiB as well: 4 MiB": "stage 3: [4.0, 4.0, 4.0, 4.0]",
        "36 MiB instead of 24": "36 MiB copied in each step",
        "Stage 1 needs 70 GB on each card, stage 2 49 GB, stage 3 28 GB": "70.0 GB, stage 2  49.0 GB, stage 3  28.0 GB",
    },
}
"""By lesson: a figure in its text, and the output that supports it."""


def cells_of(lesson: str) -> list[Any]:
    return nbformat.read(NOTEBOOKS / f"{lesson}.ipynb", as_version=4).cells


def use_gpus(count: int, model: str) -> None:
    tf.runtime.restart()
    tf.runtime.simulate_gpus(count, model=model)


@pytest.mark.parametrize(("lesson", "words"), [(lesson, words) for lesson in STATED for words in STATED[lesson]])
def test_a_figure_of_a_text_is_printed(lesson: str, words: str) -> None:
    cells = cells_of(lesson)
    texts = " ".join(" ".join(cell.source.split()) for cell in cells if cell.cell_type == "markdown")
    printed = "".join(output.get("text", "") for cell in cells for output in cell.get("outputs", []))

    assert words.lower() in texts.lower()
    assert STATED[lesson][words] in printed


def test_a_launch_takes_less_time_than_its_product() -> None:
    use_gpus(1, "Tesla K20m")
    matrix = tf.ones([512, 512])
    with tf.runtime.recording() as record:
        tf.matmul(matrix, matrix)
    [product] = [e for e in record.events if isinstance(e, tf.runtime.OpExecuted) and e.op == "MatMul"]

    assert product.timing == "modelled"
    assert 10e-6 < product.seconds < 80e-6


@pytest.mark.parametrize(("read", "waits"), [("shape", False), ("add", False), ("numpy", True), ("print", True)])
def test_a_value_is_waited_for(read: str, waits: bool) -> None:
    use_gpus(1, "Tesla K20m")
    y = tf.ones([512, 512])
    reads = {"shape": lambda: y.shape, "add": lambda: y + y, "numpy": y.numpy, "print": lambda: repr(y)}
    with tf.runtime.recording() as record:
        reads[read]()

    assert any(target == "CPU:0" for _, target, _ in record.copies) is waits


def test_adam_takes_sixteen_bytes_per_parameter() -> None:
    use_gpus(1, "A100-40GB")
    weight, gradient, adam = tf.Variable(tf.zeros([512, 512])), tf.ones([512, 512]), tf.keras.optimizers.Adam()
    adam.apply_gradients([(gradient, weight)])

    assert round((tf.runtime.devices()[1].in_use or 0) / 512**2, 1) == 16.0


def test_what_all_gather_and_reduce_scatter_copy() -> None:
    use_gpus(4, "H100")
    code = next(cell.source for cell in cells_of(SHARDING) if "def all_gather" in cell.source)
    moves: dict[str, Any] = {"tf": tf}
    exec(code, moves)
    values: list[Any] = []
    for gpu in range(4):
        with tf.device(f"/GPU:{gpu}"):
            values.append(tf.constant(np.full((512, 512), gpu, np.float32)))
    with tf.runtime.recording() as scattered:
        sums = [moves["reduce_scatter"](values, gpu) for gpu in range(4)]
    with tf.runtime.recording() as gathered:
        whole = [moves["all_gather"](sums, gpu) for gpu in range(4)]

    assert [sum(size for *_, size in record.copies) for record in (scattered, gathered)] == [3 * 2**20] * 2
    assert all((each.numpy() == 6.0).all() for each in whole)


def test_pytorch_keeps_the_same_bytes() -> None:
    torch = pytest.importorskip("torch", reason="needs PyTorch, which one step of .ci/run has")
    net = torch.nn.Linear(64, 64, bias=False)
    adam = torch.optim.Adam(net.parameters())
    net(torch.ones(1, 64)).sum().backward()
    adam.step()
    [moments] = adam.state.values()
    kept = [net.weight, net.weight.grad, moments["exp_avg"], moments["exp_avg_sq"]]

    assert sum(each.numel() * each.element_size() for each in kept) == 16 * 64 * 64
    adam.zero_grad()
    assert net.weight.grad is None
