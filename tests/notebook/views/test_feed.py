"""Is a view told everything, exactly, as plain data and in few words?"""

from __future__ import annotations

import json
import time
from itertools import groupby, pairwise
from typing import Any

import pytest

import nbtf as tf
from nbtf._devices.first_use import Compiling
from nbtf._runtime.context import CURRENT
from nbtf.notebook.session import SESSIONS
from nbtf.notebook.stills.op_colours import WORK_COLUMNS
from nbtf.notebook.views import feed as feed_module
from nbtf.notebook.views.feed import Feed
from tests.clocks import set_clock
from tests.machines import LOCAL, SCRATCH, machine
from tests.notebook.conftest import Shell

TEXTS = ("op", "device", "target", "why", "code", "out")


@pytest.fixture
def feed(shell: Shell) -> Feed:
    return Feed(SESSIONS[shell.ip])


def steps(state: dict[str, Any]) -> list[dict[str, Any]]:
    """The rows of a state with words in the place of their numbers."""
    rows = [dict(zip(state["columns"], row, strict=True)) for row in state["steps"]]
    words = [*state["words"], None]
    return [row | {name: words[row[name]] for name in TEXTS} for row in rows]


def device(state: dict[str, Any], name: str) -> dict[str, Any]:
    return next(one for one in state["devices"] if one["name"] == name)


def placed(op: str, seq: int = 1) -> tf.runtime.OpPlaced:
    return tf.runtime.OpPlaced(op, f"{LOCAL}GPU:0", tf.runtime.Reason("lowest-numbered GPU"), seq, time.time())


# What goes on


def test_a_gpu_that_compiles_is_told_and_is_a_change(shell: Shell, feed: Feed, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "compiling" not in feed.state(busy=True)
    assert not feed.changed(busy=True)

    monkeypatch.setattr(tf.runtime, "compiling", lambda: [Compiling("GPU:0", "MatMul", 0.3)])

    assert feed.changed(busy=True)
    assert feed.state(busy=True)["compiling"] == "GPU:0"


# Steps


def test_op_is_one_step_with_its_memory_and_reason(shell: Shell, feed: Feed) -> None:
    shell.run("a = tf.ones([2, 2])")
    shell.run("c = tf.matmul(a, a)")

    last = steps(feed.state(busy=False))[-1]

    assert (0, "MatMul", "GPU:0", None, "lowest-numbered GPU", "[2,2] float32") == tuple(
        last[name] for name in ("kind", "op", "device", "target", "why", "out")
    )
    assert ("cell 2, line 1: c = tf.matmul(a, a)", 16, 1) == (last["code"], last["nbytes"], last["modelled"])
    gpu = device(feed.state(busy=False), "GPU:0")["memory"]
    assert (gpu["in_use"], gpu["pool"]) == (last["in_use"], last["pool"])


def test_constants_are_counted_and_have_no_steps(shell: Shell, feed: Feed) -> None:
    shell.run("a = tf.reshape(tf.ones([4]), [2, 2])")

    state = feed.state(busy=False)

    assert 3 == sum(one["constants"] for one in state["devices"])
    assert "_EagerConst" not in json.dumps(state)


def test_copy_is_a_step_from_a_device_to_another(shell: Shell, feed: Feed) -> None:
    shell.run("with tf.device('GPU:1'): a = tf.ones([2])", "b = tf.negative(a)", "b.numpy()")

    copies = [one for one in steps(feed.state(busy=False)) if one["kind"] == 1]

    assert [
        ("GPU:1", "GPU:0", "input of Neg", 8),
        ("GPU:0", "CPU:0", "read by Python", 8),
    ] == [(one["device"], one["target"], one["why"], one["nbytes"]) for one in copies]


def test_copy_comes_before_the_op_that_needs_it(shell: Shell, feed: Feed) -> None:
    shell.run("with tf.device('GPU:1'): a = tf.ones([2])", "b = tf.negative(a)")

    assert ["copy", "Neg"] == [one["op"] for one in steps(feed.state(busy=False))[-2:]]


def test_op_that_did_not_finish_failed(shell: Shell, feed: Feed) -> None:
    shell.run("a = tf.ones([2, 3])")
    shell.run("tf.matmul(a, a)")
    shell.run("b = a + a")

    assert [(2, "MatMul", None), (0, "AddV2", "[2,3] float32")] == [
        (one["kind"], one["op"], one["out"]) for one in steps(feed.state(busy=False))[-2:]
    ]


def test_ops_of_two_threads_are_told_apart(feed: Feed) -> None:
    gpu = f"{LOCAL}GPU:0"
    reason = tf.runtime.Reason("lowest-numbered GPU")
    spec = (tf.runtime.OutputSpec((64,), "float32", 256),)
    first, second = ("first_thread.py", 1), ("second_thread.py", 2)
    for event in (
        tf.runtime.OpPlaced("Neg", gpu, reason, 1, 0.0, first),
        tf.runtime.OpPlaced("Exp", gpu, reason, 2, 0.0, second),
        tf.runtime.Allocated(gpu, 256, 1536, 4096, 3, 0.0, second),
        tf.runtime.Allocated(gpu, 256, 1792, 4096, 4, 0.0, first),
        tf.runtime.OpExecuted("Neg", gpu, spec, 0.0, "modelled", 5, 0.0, first),
        tf.runtime.OpExecuted("Exp", gpu, spec, 0.0, "modelled", 6, 0.0, second),
    ):
        feed._session.recorder(event)

    told = [(one["op"], one["in_use"], one["code"]) for one in steps(feed.state(busy=False))]
    assert [("Neg", 1792, "first_thread.py, line 1"), ("Exp", 1536, "second_thread.py, line 2")] == told


def test_op_that_went_elsewhere_says_why(shell: Shell, feed: Feed) -> None:
    shell.run("tf.config.set_soft_device_placement(True)")
    shell.run("with tf.device('GPU:7'): a = tf.add(1.0, 2.0)")

    assert "asked for GPU:7, soft placement" == steps(feed.state(busy=False))[-1]["why"]


def test_of_many_steps_the_last_are_told_and_all_are_counted(shell: Shell, feed: Feed) -> None:
    shell.run("a = tf.ones([2])", "for _ in range(999): b = a + a", "c = a * a")

    state = feed.state(busy=False)

    assert (200, "Mul") == (len(state["steps"]), steps(state)[-1]["op"])
    assert (999, state["ops"]) == (
        dict((op, count) for op, count, _ in device(state, "GPU:0")["counts"])["AddV2"],
        sum(one["ops"] for one in state["devices"]),
    )


def test_steps_belong_to_cells(shell: Shell, feed: Feed) -> None:
    shell.run("a = tf.ones([2])")
    shell.run("nothing = 0")
    shell.run("b = a + a")

    state = feed.state(busy=False)

    first = next(seq for seq, name in state["cells"] if name == "cell 3")
    assert ["AddV2"] == [one["op"] for one in steps(state) if one["seq"] >= first]
    assert "cell 1" == state["cells"][0][1]


def test_only_cells_of_the_steps_are_told(shell: Shell, feed: Feed) -> None:
    for _ in range(3):
        shell.run("a = tf.ones([2])")
    shell.run("for _ in range(300): b = a + a")

    assert ["cell 4"] == [name for _, name in feed.state(busy=False)["cells"]]


def test_small_copies_and_what_ran_elsewhere_than_asked_are_told(shell: Shell, feed: Feed) -> None:
    shell.run("_ = tf.runtime.simulate_gpus(2)")
    shell.run("with tf.device('GPU:1'): a = tf.ones([2048])", "with tf.device('GPU:7'): b = tf.add(a, a[:1])")
    state = feed.state(busy=False)

    room = device(state, "GPU:0")
    assert ["AddV2", "StridedSlice"] == [room["counts"][row][0] for row in room["elsewhere"]]
    assert [("byScope", {"name": ""}), "GPU:7", "ink"] == state["path"][0]
    assert ([["CPU:0", "GPU:1", 1, 4]], ["GPU:1", "GPU:0"]) == (state["small"], state["copies"][-1][:2])


def test_copies_are_counted_by_way(shell: Shell, feed: Feed) -> None:
    shell.run("with tf.device('GPU:1'): a = tf.ones([2])", "for _ in range(3): b = tf.negative(a)")

    assert ["GPU:1", "GPU:0", 3, 24] in feed.state(busy=False)["copies"]


def test_of_many_kinds_of_ops_the_most_frequent_are_told(feed: Feed) -> None:
    for number in range(20):
        for _ in range(number + 1):
            feed._session.recorder(placed(f"Op{number:02}"))

    gpu = device(feed.state(busy=False), "GPU:0")

    assert (12, 8, ["Op19", 20, "lowest-numbered GPU"]) == (len(gpu["counts"]), gpu["more"], gpu["counts"][0])


# Names are data


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("<img src=x onerror=alert(1)>", "<img src=x onerror=alert(1)>"),
        ("x" * 10_000, "x" * 119 + "…"),
        ("a\nb\u202ec\x00", "a�b�c�"),
    ],
)
def test_names_are_shown_as_text_that_stays_in_its_place(feed: Feed, name: str, shown: str) -> None:
    feed._session.recorder(placed(name))

    state = feed.state(busy=False)

    assert (shown, shown) == (steps(state)[0]["op"], device(state, "GPU:0")["counts"][0][0])


def test_state_is_plain_data_of_the_agreed_form(shell: Shell, feed: Feed) -> None:
    shell.run("a = tf.ones([2])")

    state = feed.with_maps(feed.state(busy=True))

    assert state["schema"] == "nbtf-view/1"
    assert state == json.loads(json.dumps(state)) | {
        "columns": state["columns"],
        "devices": state["devices"],
        "wall": state["wall"],
    }
    of_all = (
        "schema message rev wall hb lang busy ended since columns refused scope from heard ops devices copies small"
        " path words steps cut cells only"
    )
    assert of_all.split() == list(state)
    of_device = (
        "name label kind lost model card bus_id card_memory memory ops phases constants counts elsewhere more history"
        " real work"
    )
    assert [*of_device.split(), "op", "last", "map", "largest_free", "free"] == list(device(state, "GPU:0"))


def test_simulated_devices_say_so(feed: Feed) -> None:
    gpu = device(feed.state(busy=False), "GPU:0")

    assert ("simulated", "GPU:0 (simulated Tesla V100-SXM2-16GB)", 0) == (gpu["kind"], gpu["label"], gpu["card"])
    assert ("host", "CPU:0", None) == tuple(
        device(feed.state(busy=False), "CPU:0")[name] for name in ("kind", "label", "model")
    )


# When


def test_looking_starts_no_device(feed: Feed) -> None:
    state = feed.with_maps(feed.state(busy=False))

    assert (None, None) == (CURRENT.context.machine, device(state, "GPU:0")["memory"])


def test_state_is_new_only_when_something_changed(shell: Shell, feed: Feed) -> None:
    shell.run("a = tf.ones([2])")
    feed.state(busy=False)
    same = feed.changed(busy=False)
    shell.run("del a")
    freed = feed.changed(busy=False)
    feed.state(busy=False)
    shell.run("a = tf.ones([2])")

    assert (False, True, True) == (same, freed, feed.changed(busy=False))


def test_clearing_the_log_clears_what_is_told(shell: Shell, feed: Feed) -> None:
    shell.run("a = tf.ones([2])")
    before = feed.state(busy=False)
    shell.run("%placement_log clear")

    after = feed.state(busy=False)

    assert (0, [], before["rev"] + 1) == (after["heard"], after["steps"], after["rev"])


def test_restart_goes_on_with_the_new_devices(shell: Shell, feed: Feed) -> None:
    shell.run("a = tf.ones([2])")
    feed.with_maps(feed.state(busy=False))
    shell.run("tf.runtime.restart()", "tf.runtime.simulate_gpus(3)")

    state = feed.with_maps(feed.state(busy=False))

    assert ["CPU:0", "GPU:0", "GPU:1", "GPU:2"] == [one["name"] for one in state["devices"]]
    assert (None, False) == (device(state, "GPU:0")["memory"], "map" in device(state, "GPU:0"))


# Phases


def test_ops_since_the_last_look_are_counted_by_phase(shell: Shell, feed: Feed) -> None:
    shell.run("x = tf.Variable(tf.ones([4, 4]))", "optimizer = tf.keras.optimizers.SGD()")
    feed.state(busy=False)
    shell.run(
        "with tf.GradientTape() as tape: loss = tf.reduce_sum(tf.matmul(x, x))",
        "optimizer.apply_gradients([(tape.gradient(loss, x), x)])",
    )

    state = feed.state(busy=False)

    forward, backward, update, of_input, *_ = device(state, "GPU:0")["phases"]
    assert forward >= 2
    assert backward >= 2
    assert update >= 1
    assert (0, []) == (of_input, device(state, "GPU:1")["phases"])
    assert [] == device(feed.state(busy=False), "GPU:0")["phases"]


def test_ops_without_a_phase_are_counted_by_family(shell: Shell, feed: Feed) -> None:
    shell.run("x = tf.random.normal([4, 4])", "y = tf.reduce_sum(tf.matmul(x, x) + 1.0)")

    counts = dict(zip(WORK_COLUMNS, device(feed.state(busy=False), "GPU:0")["phases"], strict=True))
    assert counts["products"] == 1
    assert counts["reductions"] == 1
    assert counts["randoms"] >= 1
    assert counts["elementwise"] >= 1
    assert counts["forward"] == 0


# Scopes


@pytest.fixture
def three_cells(shell: Shell, feed: Feed) -> Feed:
    for cell in ("a = tf.ones([2])", "b = tf.negative(a)", "with tf.device('GPU:1'): c = tf.negative(b)", "pass"):
        shell.run(cell)
    feed.state(busy=False)
    return feed


def ops_shown(state: dict[str, Any]) -> int:
    """Steps that are ops, and constants, which have none."""
    return sum(one["kind"] == 0 for one in steps(state)) + sum(one["constants"] for one in state["devices"])


def ran(state: dict[str, Any]) -> tuple[str, int, list[str], list[list[Any]]]:
    return state["from"], state["ops"], [one["op"] for one in steps(state)], state["copies"]


def test_a_view_shows_all_the_last_cell_or_what_ran_since_it_was_shown(three_cells: Feed) -> None:
    second = three_cells._session.recorder.scenes[1]
    whole = three_cells.state(busy=False)

    last, since = (three_cells.of_scope(whole, scope, second) for scope in ("cell", "here"))

    copy = ["GPU:0", "GPU:1", 1, 8]
    assert ("cell 3", 1, ["copy", "Neg"], [copy]) == ran(last)
    assert ("cell 2", 2, ["Neg", "copy", "Neg"], [copy]) == ran(since)
    assert ("", "all", whole["ops"]) == (whole["from"], whole["scope"], ops_shown(whole))
    assert [0, 1] == [device(last, name)["ops"] for name in ("GPU:0", "GPU:1")]
    assert [1, 1] == [device(since, name)["ops"] for name in ("GPU:0", "GPU:1")]


def test_scopes_of_all_cells_add_up(three_cells: Feed) -> None:
    recorder, whole = three_cells._session.recorder, three_cells.state(busy=False)
    since = [three_cells.of_scope(whole, "here", scene) for scene in recorder.scenes]

    of_cells = [before["heard"] - after["heard"] for before, after in pairwise(since)] + [since[-1]["heard"]]
    assert [len(recorder.events_of(scene)) for scene in recorder.scenes] == of_cells
    assert (whole["heard"], whole["ops"]) == (since[0]["heard"], since[0]["ops"])


@pytest.mark.parametrize("scope", ["cell", "here", "all"])
def test_a_restart_begins_every_scope_anew(shell: Shell, three_cells: Feed, scope: str) -> None:
    before = three_cells._session.recorder.scenes[0]
    shell.run("tf.runtime.restart()", "d = tf.ones([3])")

    state = three_cells.of_scope(three_cells.state(busy=False), scope, before)

    assert {"Fill"} == {one["op"] for one in steps(state)}
    assert state["ops"] == ops_shown(state)


def test_scopes_of_a_log_that_was_cleared_hold_what_came_after(shell: Shell, three_cells: Feed) -> None:
    before = three_cells._session.recorder.scenes[0]
    shell.run("%placement_log clear", "d = tf.negative(c)")

    whole = three_cells.state(busy=False)

    assert [1, 1] == [three_cells.of_scope(whole, scope, before)["ops"] for scope in ("cell", "here")]


# Memory over time


def test_memory_that_a_cell_frees_shows(shell: Shell, feed: Feed) -> None:
    shell.run("import numpy as np", "a = tf.constant(np.zeros(1024, 'f4'))")
    feed.state(busy=False)
    shell.run("del a")

    history = device(feed.state(busy=False), "GPU:0")["history"]

    assert [SCRATCH, SCRATCH + 4096, SCRATCH] == [in_use for in_use, _ in groupby(in_use for _, in_use, _ in history)]


def test_memory_figures_are_those_of_the_device(shell: Shell, feed: Feed) -> None:
    shell.run("a = tf.ones([3])")

    memory = device(feed.state(busy=False), "GPU:0")["memory"]

    info = next(one for one in tf.runtime.devices() if one.name == "GPU:0")
    assert (info.in_use, info.requested, info.peak, info.pool, info.memory_limit) == tuple(memory.values())
    assert memory["in_use"] == SCRATCH + 256
    assert memory["requested"] == 1028 + 12


# Memory by place


def chunks(state: dict[str, Any], name: str = "GPU:0") -> list[list[int]]:
    return [chunk for region in device(state, name)["map"]["regions"] for chunk in region["chunks"]]


def map_words(state: dict[str, Any]) -> list[str]:
    return device(state, "GPU:0")["map"]["words"]


def test_map_names_what_a_chunk_is_for(shell: Shell, feed: Feed) -> None:
    shell.run("a = tf.fill([2, 2], 1.0)")

    state = feed.with_maps(feed.state(busy=False))

    rows = [row for row in chunks(state) if row[3] == 16]
    assert [["Fill", "[2,2] float32", "cell 1, line 1: a = tf.fill([2, 2], 1.0)", ""]] == [
        [map_words(state)[number] for number in row[4:]] for row in rows
    ]


def test_words_of_the_map_are_in_no_other_view(shell: Shell, feed: Feed) -> None:
    shell.run("a = tf.ones([2])")

    plain = feed.state(busy=False)
    before = list(plain["words"])
    feed.with_maps(plain)

    assert before == plain["words"]


def test_map_has_only_the_devices_asked_for(shell: Shell, feed: Feed) -> None:
    shell.run("a = tf.ones([2])")

    state = feed.with_maps(feed.state(busy=False), only=("GPU:1",))

    assert (["GPU:1"], ["GPU:1"]) == ([one["name"] for one in state["devices"]], state["only"])


def test_map_of_many_chunks_draws_neighbours_as_one(feed: Feed) -> None:
    with machine(1, memory="2GiB"):
        held = [tf.constant([0.0] * length) for length in range(1, 3001)]
        state = feed.with_maps(feed.state(busy=False))

    told = device(state, "GPU:0")
    rows = chunks(state)
    regions = told["map"]["regions"]
    assert (3001 + 1, len(rows), True) == (told["map"]["chunks"], told["map"]["shown"], 200 < len(rows) <= 400)
    assert told["map"]["chunks"] == sum(-row[3] if row[2] == 2 else 1 for row in rows)
    assert [region["size"] for region in regions] == [sum(row[1] for row in region["chunks"]) for region in regions]
    assert (len(held), told["free"]) == (3000, told["largest_free"])


def test_free_memory_and_its_largest_piece_are_told(shell: Shell, feed: Feed) -> None:
    shell.run("import numpy as np", "a, b, c = (tf.constant(np.zeros(1024, 'f4')) for _ in range(3))", "del b")

    told = device(feed.with_maps(feed.state(busy=False)), "GPU:0")

    assert told["memory"]["pool"] - told["memory"]["in_use"] == told["free"]
    assert told["free"] - 4096 == told["largest_free"]


def test_holders_are_named_until_another_tensor_takes_the_place(
    shell: Shell, feed: Feed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feed_module, "holder_names", lambda session, seconds: ({("GPU:0", 0, SCRATCH): "a"}, True))
    shell.run("a = tf.constant([1.0] * 64)", "b = tf.constant([2.0] * 64)")

    def names() -> list[str | None]:
        state = feed.with_maps(feed.state(busy=False), fresh=True)
        return [None if row[7] < 0 else map_words(state)[row[7]] for row in chunks(state) if row[3] == 256]

    feed.name_holders(1.0)
    looked = names()
    shell.run("a = None", "c = tf.constant([3.0] * 64)")

    assert (["a", None], ["", None]) == (looked, names())


@pytest.mark.parametrize(("complete", "holder"), [(True, None), (False, "")])
def test_chunk_is_without_a_holder_only_where_there_was_time_to_look(
    shell: Shell, feed: Feed, monkeypatch: pytest.MonkeyPatch, complete: bool, holder: str | None
) -> None:
    monkeypatch.setattr(feed_module, "holder_names", lambda session, seconds: ({}, complete))
    shell.run("a = tf.constant([1.0] * 64)")

    feed.name_holders(1.0)
    state = feed.with_maps(feed.state(busy=False), fresh=True)

    assert [holder] == [None if row[7] < 0 else map_words(state)[row[7]] for row in chunks(state) if row[3] == 256]


def test_long_look_for_holders_is_not_made_again_at_once(feed: Feed, monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[float] = []
    monkeypatch.setattr(feed_module, "holder_names", lambda _, seconds: looks.append(seconds) or ({}, True))
    moments = [10.0, 11.0, 12.0, 30.0, 32.0, 32.1, 32.2, 32.3]  # a look takes a second: the next one comes 20 later
    set_clock(monkeypatch, feed_module, monotonic=iter(moments).__next__)

    for _ in range(5):
        feed.name_holders(0.1)

    assert [0.1, 0.1, 0.1] == looks


def test_large_map_is_not_looked_at_again_at_once(shell: Shell, feed: Feed, monkeypatch: pytest.MonkeyPatch) -> None:
    shell.run("a = tf.ones([2])")
    moments = [10.0, 11.0, 12.0, 30.0, 31.5, 31.5, 31.5]  # a look takes a second: the next one comes 20 later
    set_clock(monkeypatch, feed_module, monotonic=iter(moments).__next__)
    looks: list[str] = []
    look = tf.runtime.memory_map
    monkeypatch.setattr(tf.runtime, "memory_map", lambda name: looks.append(name) or look(name))

    for _ in range(4):
        feed.with_maps(feed.state(busy=False), only=("GPU:0",))

    assert ["GPU:0", "GPU:0"] == looks
