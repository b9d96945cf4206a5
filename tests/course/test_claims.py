"""Are the claims of lessons 09, 13, 14 and 15 true, and do the lessons quote the figures that their programs print?"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest

import nbtf as tf
from nbtf._devices.catalog import find_card
from nbtf._devices.collectives import HIERARCHICAL, RING, STAR, TREE, plan
from tests.course.scenarios import NOTEBOOKS
from tests.machines import cluster, machine, worker

nbformat = pytest.importorskip("nbformat", reason='needs the extra "lab"')

MIRRORED, PYTORCH, MACHINES, FAILURE = (
    "09_mirrored_strategy",
    "13_your_own_pytorch_notebook",
    "14_one_machine_is_not_enough",
    "15_when_a_machine_fails",
)
LESSONS = (MIRRORED, PYTORCH, MACHINES, FAILURE)


def cells_of(lesson: str) -> list[Any]:
    return nbformat.read(NOTEBOOKS / f"{lesson}.ipynb", as_version=4).cells


def texts(lesson: str) -> str:
    """Returns the text of a lesson, including its code."""
    return " ".join(" ".join(cell.source for cell in cells_of(lesson)).split())


def outputs(cells: Iterable[Any]) -> str:
    """Returns the text of the cells' outputs, including text in pictures."""
    parts: list[str] = []
    for cell in cells:
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            parts += [output.get("text", ""), output.get("evalue", ""), data.get("text/plain", "")]
            parts.append(data.get("image/svg+xml", ""))
    return "\n".join(parts)


# Figures: a lesson's sentence, and the program's output that supports it

QUOTED = {
    MIRRORED: {
        "1797 handwritten digits": "(1437, 8, 8, 1) (360, 8, 8, 1)",
        "3, 3, 3 and 1": "[[0, 1, 2], [3, 4, 5], [6, 7, 8], [9]]",
        "40,360 bytes": "6 copies of 40360 bytes: 6.0 times the model",
        "*39.4 KiB* each": "39.4 KiB",
        "*all-reduce: 6 copies, 236 KiB, 78 % of the step*": "all-reduce: 6 copies, 236 KiB, 78 % of the step",
    },
    PYTORCH: {
        "*33 ops*": "33 ops",
        "*between GPUs: 9 copies, 900 KiB*": "between GPUs: 9 copies, 900 KiB",
        "a GPU with 48 MiB": "total capacity of 48.00 MiB",
        "allocates 7.6 MiB and reserves 24 MiB": "at most 7.6 MiB (8,007,680 B) and reserves at most 24 MiB (",
        "With a batch of 8,192 it reserves 120 MiB": "8,192        99.6 MiB        120 MiB  fits",
        "with 131,072 it reserves 2 GiB": "131,072         1.5 GiB          2 GiB  fits",
        "leave 238 MiB in the cache": "it does not count 238 MiB (",
    },
    MACHINES: {
        "*between hosts: 1 copy, 256 KiB*": "between hosts: 1 copy, 256 KiB",
        "334 µs instead of 12": "task:3/GPU:1   12 µs, modelled\nto /job:worker/task:4/GPU:0  334 µs, modelled",
        "16 seconds for each step": "16287.61",
        "7.8 times as fast as one GPU": "8 GPUs:   125.0 ms computing,    3.9 ms adding up,  7.8 times as fast",
        "only 6.2 times as fast: computing takes 1 ms, and adding up 160 ms": "1024 GPUs:     1.0 ms computing,  "
        "160.2 ms adding up,  6.2 times as fast",
        "1024 GPUs are 24.3 times as fast as one": "1024 GPUs: 24.3 times as fast",
        "only 30.4 times as fast": "1024 GPUs: 30.4 times as fast",
    },
    FAILURE: {
        "six parts instead of eight": "6 replicas: ",
        "*all-reduce: 12 copies, 14.2 MiB, 40 % of the step*": "all-reduce: 12 copies, 14.2 MiB, 40 % of the step",
    },
}


@pytest.mark.parametrize("lesson", LESSONS)
def test_a_quoted_figure_is_one_that_the_program_printed(lesson: str) -> None:
    said, printed = texts(lesson), outputs(cells_of(lesson))

    assert [quotation for quotation in QUOTED[lesson] if quotation not in said] == []
    assert [figure for figure in QUOTED[lesson].values() if figure not in printed] == []


# Lesson 09: what a strategy changes


def losses(gpus: int, make_layer: Any = None) -> list[float]:
    """Trains the lesson's network on a part of its data; returns the loss of each step."""
    (images, labels), _ = tf.keras.datasets.digits.load_data()
    images = images[:128, ..., None] / 16
    layers = tf.keras.layers
    with machine(4):
        with tf.distribute.MirroredStrategy([f"GPU:{number}" for number in range(gpus)]).scope():
            tf.keras.utils.set_random_seed(7)
            more = [] if make_layer is None else [make_layer()]
            model = tf.keras.Sequential([layers.Input((8, 8, 1)), layers.Flatten(), *more, layers.Dense(10)])
            loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
            model.compile(tf.keras.optimizers.Adam(0.005), loss=loss)
        steps = range(0, 128, 64)
        return [float(model.train_on_batch(images[at : at + 64], labels[at : at + 64])) for at in steps]


@pytest.mark.parametrize(
    ("make_layer", "is_same"),
    [
        (None, True),
        (tf.keras.layers.LayerNormalization, True),
        (tf.keras.layers.BatchNormalization, False),
        (lambda: tf.keras.layers.Dropout(0.5), False),
    ],
    ids=["plain", "layer_norm", "batch_norm", "dropout"],
)
def test_a_strategy_changes_only_layers_that_do_not_treat_each_example_alone(make_layer: Any, is_same: bool) -> None:
    one, four = losses(1, make_layer), losses(4, make_layer)

    assert is_same == np.allclose(one, four, atol=1e-4)


def test_each_replica_normalizes_its_own_part_of_the_batch() -> None:
    batch = np.random.default_rng(1).normal(size=(8, 3)).astype(np.float32)
    with machine(4):
        strategy = tf.distribute.MirroredStrategy()
        with strategy.scope():
            layer = tf.keras.layers.BatchNormalization()
            layer.build((None, 3))
        [part] = strategy.experimental_distribute_dataset(tf.data.Dataset.from_tensor_slices(batch).batch(8))
        results = strategy.experimental_local_results(strategy.run(lambda x: layer(x, training=True), args=(part,)))
        alone = [tf.keras.layers.BatchNormalization()(batch[at : at + 2], training=True) for at in range(0, 8, 2)]

        assert all(
            np.allclose(ours.numpy(), theirs.numpy(), atol=1e-6) for ours, theirs in zip(results, alone, strict=True)
        )


ON_ALL = [(op, f"GPU:{number}") for op in ("_EagerConst", "VarHandleOp", "AssignVariableOp") for number in range(4)]
FIRST = "StatelessRandomGetKeyCounter StatelessRandomUniformV2 Sub Mul AddV2 Fill Identity ReadVariableOp"
GUIDE_PAIRS = {
    *ON_ALL,
    *[(op, "GPU:0") for op in FIRST.split()],
    *[(op, f"GPU:{number}") for op in ("Identity", "ReadVariableOp") for number in (1, 2, 3)],
    ("AddN", "CPU:0"),
    ("Identity", "CPU:0"),
    ("NoOp", "GPU:0"),
}
"""All pairs of op and device in the output of the MirroredStrategy example in TensorFlow's guide of 2022."""

REDUCTION = (
    "INFO:tensorflow:Reduce to /job:localhost/replica:0/task:0/device:CPU:0 then broadcast to "
    "('/job:localhost/replica:0/task:0/device:CPU:0',)."
)


def test_the_log_has_the_pairs_of_the_guide_but_the_one_that_the_appendix_names() -> None:
    cells = cells_of(MIRRORED)
    start = next(at for at, cell in enumerate(cells) if "S89" in cell.metadata.get("nbtf", {}).get("scenarios", []))
    log = outputs(cells[start : start + 3])

    pairs = set(re.findall(r"Executing op (\w+) in device \S*/device:(\S+)", log))

    assert {("NoOp", "GPU:0")} == GUIDE_PAIRS - pairs
    assert set() == pairs - GUIDE_PAIRS
    assert 2 == log.count(REDUCTION)


def test_copies_that_differ_are_added_up_on_the_cpu_and_logged_ten_times() -> None:
    lines: list[str] = []
    with machine(4), pytest.MonkeyPatch.context() as patch:
        patch.setattr(tf.get_logger(), "info", lambda text, *values: lines.append(text % values))
        with tf.distribute.MirroredStrategy().scope():
            v = tf.Variable(
                1.0, synchronization=tf.VariableSynchronization.ON_READ, aggregation=tf.VariableAggregation.SUM
            )
        lines.clear()
        with tf.runtime.recording() as record:
            total = v.read_value()
        for _ in range(20):
            v.read_value()

        assert (4.0, "CPU:0") == (total.numpy(), total.device[-5:])
        assert [("ReadVariableOp", f"GPU:{number}") for number in range(4)] == list(record.ops)[:4]
        assert [("AddN", "CPU:0"), ("Identity", "CPU:0")] == list(record.ops)[4:]
        assert [REDUCTION.removeprefix("INFO:tensorflow:")] * 10 == lines


# Lesson 13: a prediction

PREPARED = """
import torch
torch.set_num_threads(1)
batch = 64

def step(batch):
    model = torch.nn.Linear(1024, 1024).to("cuda")
    model(torch.randn(batch, 1024).to("cuda")).sum().backward()
"""
KEEPS_MUCH = """
kept = [torch.ones(1024, 1024).to("cuda") for _ in range(50)]
del kept
"""
PREDICTED = "batch = 64\nstep(batch)"


def test_a_pytorch_prediction_does_not_count_what_cells_before_it_have_left() -> None:
    torch = pytest.importorskip("torch", reason="needs PyTorch; one step of .ci/run has it")
    if torch.cuda.is_available():
        pytest.skip("needs a PyTorch without a GPU")
    from nbtf._frameworks.torch.prediction.asking import ask

    answers = [
        ask("cell 3", [(1, PREPARED, False), (2, between, False), (3, PREDICTED, True)], "NVIDIA A100-SXM4-40GB")
        for between in ("pass", KEEPS_MUCH)
    ]

    reserved = [answer["peak"]["reserved"] for answer in answers]
    assert reserved[0] == reserved[1]
    assert ["empty cache" in " ".join(answer["notes"]) for answer in answers] == [False, True]


def test_a_pytorch_lesson_predicts_less_for_a_smaller_batch() -> None:
    table = outputs(cells_of(PYTORCH))

    rows = re.findall(r"^ *([\d,]+) +[\d.]+ [MG]iB +([\d.]+) ([MG])iB  fits$", table, re.MULTILINE)
    reserved = [float(size) * (1024 if unit == "G" else 1) for _, size, unit in rows]

    assert ["512", "8,192", "131,072"] == [batch for batch, *_ in rows]
    assert sorted(reserved) == reserved


# Lesson 14: times and factors


def factor(link: str, count: int) -> float:
    """Returns the speed-up of `count` GPUs over one, for a second of computing and a gigabyte of gradients."""
    with cluster(128, 8, model="H100", link=link):
        times = tf.runtime.all_reduce_times(1_000_000_000, count)
    return 1.0 / (1.0 / count + min(times.ring, times.tree, times.hierarchical))


@pytest.mark.parametrize(
    ("link", "count", "expected"),
    [("100Gb/s", 8, 7.8), ("100Gb/s", 1024, 6.2), ("400Gb/s", 1024, 24.3), ("3200Gb/s", 1024, 30.4)],
)
def test_more_gpus_are_faster_by_the_factor_of_the_lesson(link: str, count: int, expected: float) -> None:
    assert expected == round(factor(link, count), 1)


def test_the_bus_of_one_card_limits_a_host() -> None:
    assert 63e9 == find_card("H100").pcie_bandwidth
    assert factor("3200Gb/s", 1024) == pytest.approx(factor("504Gb/s", 1024))


def test_messages_that_wait_for_each_other_are_those_of_the_text() -> None:
    names = [worker(task, f"GPU:{number}") for task in range(128) for number in range(8)]
    with cluster(128, 8, model="H100", link="100Gb/s") as context:
        assert context.configuration.cluster is not None
        network = context.configuration.cluster.network
    plans = {name: plan(name, names, 4, network) for name in (STAR, RING, TREE)}
    waits = {name: sum(each.times * sum(each.levels or (1,)) for each in plans[name].rounds) for name in plans}

    assert {STAR: 2046, RING: 2046, TREE: 20} == waits


def test_a_ring_between_few_hosts_sends_less_than_a_tree() -> None:
    with cluster(8, 8, model="H100", link="100Gb/s"):
        assert HIERARCHICAL == tf.runtime.all_reduce_times(100_000_000).chosen


# Lesson 15: what is lost after a failure


def test_every_gpu_that_is_left_has_all_weights() -> None:
    with cluster(4, 2, model="H100"):
        with tf.distribute.MultiWorkerMirroredStrategy().scope():
            model = tf.keras.Sequential([tf.keras.layers.Input((4,)), tf.keras.layers.Dense(8)])
        for weight in model.weights:
            kept = [copy for copy in weight.value.values if "task:3" not in copy.device]

            assert 6 == len(kept)
            assert all((copy.numpy() == kept[0].numpy()).all() for copy in kept)


def test_losses_go_on_as_if_nothing_had_happened() -> None:
    printed = outputs(cells_of(FAILURE))
    after, without = (re.findall(rf"{words} (\[.*?\])", printed) for words in ("[61] replicas?:", "failure:"))
    [eight] = re.findall(r"8 replicas: (\[.*?\])", printed)

    assert [eight, *without] == after
