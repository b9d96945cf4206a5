"""Are the tensors of a list, a model or an optimizer one row of `%gpu_memory --who`, and nothing lost?"""

from __future__ import annotations

import random
import re
from typing import Any

import pytest

import nbtf as tf
from tests.notebook.conftest import Shell
from tests.notebook.holders.test_table import in_use, run
from tests.notebook.holders.test_table import time_enough as time_enough

SOURCES = (
    "[{}, {}, {}]",
    "({}, {})",
    "{{'a': {}, 'b': [{}, {}]}}",
    "{}",
    "[[{}], {{'c': ({}, {})}}]",
    "type('State', (), {{}})()",
    "tf.Variable({})",
    "[tf.Variable({}), tf.reshape({}, [-1])]",
    "tf.keras.Sequential([tf.keras.layers.Dense(3, input_shape=(4,)), tf.keras.layers.Dense(2)])",
)


def table(shell: Shell, options: str = "") -> Any:
    return shell.run(f"%gpu_memory --who {options}").result


def tensors(rows: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """Returns the tensors of a table, in or out of rows that open."""
    parts = [part for row in rows for part in row.get("parts", [row])]
    return sorted((part["device"], part["holder"], part["nbytes"], part["code"]) for part in parts)


@pytest.mark.parametrize("seed", range(12))
def test_rows_add_up_to_those_of_single_tensors_for_any_holders(shell: Shell, seed: int) -> None:
    order = random.Random(seed)
    for number in range(6):
        source = order.choice(SOURCES)
        makers = [f"tf.ones([{order.randint(1, 900)}])" for _ in range(source.count("{}"))]
        gpu = order.randrange(2)
        shell.run(f"with tf.device('GPU:{gpu}'): x{number} = {source.format(*makers)}")
        if order.random() < 0.3:
            shell.run(f"also{number} = [x{number}]")

    each, grouped = table(shell, "--all").rows, table(shell).rows

    assert [] == [row for row in each if "parts" in row]
    assert tensors(each) == tensors(grouped)
    for gpu in ("GPU:0", "GPU:1"):
        assert sum(row["nbytes"] for row in each if row["device"] == gpu) == sum(
            row["nbytes"] for row in grouped if row["device"] == gpu
        )
    for row in grouped:
        parts = row.get("parts", [row])
        assert (sum(part["nbytes"] for part in parts), len(parts)) == (row["nbytes"], row["pieces"])
        assert {row["device"]} == {part["device"] for part in parts}
    holders = [(row["device"], row["holder"]) for row in grouped]
    assert len(set(holders)) == len(holders)


HOLDERS = {
    "a list": ("h = [{}, {}]", "h (2 tensors)"),
    "a tuple": ("h = ({}, {})", "h (2 tensors)"),
    "a dictionary": ("h = {{'a': {}, (1, 2): {}}}", "h (2 tensors)"),
    "a list in a dictionary": ("h = {{'a': [{}, {}]}}", "h (2 tensors)"),
    "an object": ("class S: a, b = {}, {}", "S (2 tensors)"),
    "a list with two names": ("h = g = [{}, {}]", "h, g (2 tensors)"),
    "a function's closure": ("h = (lambda a, b: lambda: (a, b))({}, {})", "h (2 tensors)"),
    "variables": ("h = [tf.Variable({}), tf.Variable({})]", "h (2 tensors)"),
}


@pytest.mark.parametrize("holder", HOLDERS)
def test_line_beside_a_container_frees_all_of_it(shell: Shell, holder: str) -> None:
    source, name = HOLDERS[holder]
    shell.run(source.format("tf.ones([500, 100])", "tf.ones([600, 100])"))
    before = in_use() or 0
    [row] = [row for row in table(shell).rows if row["holder"] == name]

    run(shell, row["frees"])

    assert before - row["nbytes"] == in_use()
    assert (2, "") == (row["pieces"], row["tensor"])


def test_row_says_what_is_the_same_of_all_its_tensors(shell: Shell) -> None:
    shell.run("held = [tf.ones([500, 100]) for _ in range(3)]")

    row = table(shell).rows[0]

    line = "cell 1, line 1: held = [tf.ones([500, 100]) for _ in range(3)]"
    assert ("[500, 100] float32", "Fill", line) == (row["tensor"], row["op"], row["code"])


def test_tensor_with_a_name_of_its_own_stands_alone(shell: Shell) -> None:
    shell.run("x = tf.ones([500, 100])", "held = [x, tf.ones([400, 100]), tf.ones([300, 100])]")

    assert ["held (2 tensors)", "x, held[0]"] == [row["holder"] for row in table(shell).rows[:2]]


def test_weights_and_optimizer_of_a_model_are_two_rows(shell: Shell) -> None:
    shell.run(
        "model = tf.keras.Sequential([tf.keras.layers.Dense(200, input_shape=(300,))])",
        "model.compile('adam', 'mse')",
        "model.optimizer.build(model.trainable_variables)",
        "model.spare = [tf.ones([10]), tf.ones([20])]",
    )

    holders = {row["holder"]: row["pieces"] for row in table(shell).rows}

    optimizer = [count for name, count in holders.items() if ": optimizer state (" in name]
    assert {
        "model: weights (2 tensors)",
        "model (2 tensors)",
        "model.mean_loss: metric state (2 tensors)",
    } <= set(holders)
    each = [row["holder"] for row in table(shell, "--all").rows]
    assert optimizer == [sum(".optimizer" in holder or " · " in holder for holder in each)]


FIT = (
    "strategy = tf.distribute.MirroredStrategy()",
    "with strategy.scope():",
    "    layers = [tf.keras.layers.Dense(64, name='hidden_1'), tf.keras.layers.Dense(1, name='out')]",
    "    model = tf.keras.Sequential(layers)",
    "    model.compile('adam', 'mse', metrics=['mae'])",
    "model.fit(tf.ones([8, 100]), tf.ones([8, 1]), batch_size=4, verbose=0)",
    "del layers, strategy",
)


def test_copies_of_a_mirrored_model_are_one_row(shell: Shell) -> None:
    shell.run("\n".join(FIT))

    rows = table(shell).rows

    weights = next(row for row in rows if row["holder"].startswith("model: weights"))
    kernels = [part for part in weights["parts"] if part["holder"].startswith("model.layers[0].kernel")]
    assert "model: weights (4 tensors): 2 × 25.8 KiB, one on each GPU" == weights["holder"]
    assert [("model.layers[0].kernel: 2 × 25 KiB, one on each GPU", 2 * 25600)] == [
        (part["holder"], part["nbytes"]) for part in kernels
    ]
    of_gpus = [device.in_use for device in tf.runtime.devices() if device.in_use is not None]
    assert sum(of_gpus) == sum(row["nbytes"] for row in rows)
    assert ["GPU:0, GPU:1"] == [*{row["device"] for row in rows if row["holder"].startswith("model")}]


def test_rows_after_a_fit_name_nothing_inside_of_nbtf(shell: Shell) -> None:
    shell.run("\n".join(FIT))

    holders = {row["holder"] for row in table(shell, "--all").rows}

    slots = {f"{weight} · {slot}" for weight in ("hidden_1/kernel", "out/bias") for slot in ("momentum", "velocity")}
    assert slots <= holders
    assert [] == [holder for holder in holders if re.search(r"compiled|optimizer slot|values\[|\._|<", holder)]


def test_text_lists_the_first_tensors_and_says_how_many_more_there_are(shell: Shell) -> None:
    shell.run("held = [tf.ones([512, 512]) for _ in range(32)]")

    lines = repr(table(shell)).splitlines()

    assert lines[1].startswith("held (32 tensors)")
    assert ["  held[0]", "  held[1]", "  held[2]"] == [line[:9] for line in lines[2:5]]
    assert lines[5] == "  and 29 more, 29 MiB (30,408,704 B); `%gpu_memory --who --all` lists them"


@pytest.mark.parametrize("count", [2, 4])
def test_text_lists_all_tensors_where_they_are_few(shell: Shell, count: int) -> None:
    shell.run(f"held = [tf.ones([512, 512]) for _ in range({count})]")

    text = repr(table(shell))

    assert (count, False) == (text.count("  held["), "more" in text)


def test_all_lists_every_tensor(shell: Shell) -> None:
    shell.run("held = [tf.ones([64]) for _ in range(100)]")

    text = repr(table(shell, "--all"))

    assert (100, False) == (sum(line.startswith("held[") for line in text.splitlines()), "more" in text)


def test_row_opens_in_html_without_a_script(shell: Shell) -> None:
    shell.run("held = [tf.ones([64]) for _ in range(70)]")

    html = table(shell)._repr_html_()

    assert "<details><summary>held (70 tensors)</summary><table>" in html
    assert "<p>and 10 more, 2,560 B; `%gpu_memory --who --all` lists them</p></details>" in html
    assert [] == [word for word in ("<script", " id=", "onclick") if word in html]


def test_keys_of_a_container_are_text_in_html(shell: Shell) -> None:
    shell.run("d = {f'<img src=x{n}>': tf.ones([64]) for n in range(3)}")

    assert "<img" not in table(shell)._repr_html_()


def test_all_without_who_is_a_usage_error(shell: Shell) -> None:
    assert shell.run("%gpu_memory --all --live").out.startswith("UsageError: %gpu_memory: --all needs a table")
