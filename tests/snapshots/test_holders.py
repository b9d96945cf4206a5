"""What holds memory, the lines of stacks, and the texts about a snapshot."""

from __future__ import annotations

import pytest

from nbtf._snapshots.holders import BEFORE, NO_STACK
from nbtf._snapshots.lines import is_own, origin_of, without_person
from nbtf._snapshots.opened import OpenedSnapshot
from nbtf._snapshots.snapshot import Frame, Stack
from tests.rings import seeds
from tests.snapshots.histories import dictionary, history, snapshot_of

TORCH = "/opt/conda/lib/python3.12/site-packages/torch"
CALL = Frame(f"{TORCH}/nn/modules/module.py", 1784, "_call_impl")
OWN = Frame("/home/ann/train.py", 9, "step")


def _stack(*frames: Frame) -> Stack:
    return frames


@pytest.mark.parametrize("seed", seeds(100))
def test_bytes_add_up_to_the_account_at_every_kind_of_state(seed: int) -> None:
    record = history(seed)
    snapshot = OpenedSnapshot.of(snapshot_of(dictionary([record], len(record.events) // 4)))
    account = snapshot.account(0)
    for at in ("peak", "end", "beginning", account.states // 2):
        expected = {"peak": account.peak.state, "end": account.states - 1, "beginning": 0}.get(str(at), at)
        for by in ("line", "module", "phase"):
            rows = snapshot.holders(0, by, at)
            assert sum(row.nbytes for row in rows) == account.allocated[expected]  # pyright: ignore[reportCallIssue, reportArgumentType]
            assert sum(row.pieces for row in rows) == len(account.rows_at(int(expected)))
            assert [row.nbytes for row in rows] == sorted([row.nbytes for row in rows], reverse=True)
            assert len({(row.name, row.line) for row in rows}) == len(rows)


def test_rows_are_the_lines_that_allocated() -> None:
    record = history(4, text="")
    snapshot = OpenedSnapshot.of(snapshot_of(dictionary([record])))
    expected: dict[str, int] = {}
    for segment in record.figures[-1].segments:
        for block in segment["blocks"]:
            if block["state"] == "active_allocated":
                frames = block["frames"]
                name = f"model_{frames[1]['line']}.py:{frames[1]['line']} in forward" if frames else NO_STACK
                expected[name] = expected.get(name, 0) + block["size"]
    assert {row.name: row.nbytes for row in snapshot.holders(at="end")} == expected
    assert len(expected) > 2


def test_older_memory_without_a_stack_has_its_own_row() -> None:
    record = history(6, text="")
    lost = record.figures[60].events
    contents = dictionary([record], lost)
    snapshot = OpenedSnapshot.of(snapshot_of(contents))
    rows = {row.name: row for row in snapshot.holders(at="beginning")}
    freed = {each["addr"] for each in contents["device_traces"][0] if each["action"] == "free_completed"}
    assert rows[BEFORE].pieces > 0
    assert rows[BEFORE].line is None
    older = {b["address"] for s in record.figures[60].segments for b in s["blocks"] if b["state"] == "active_allocated"}
    assert rows[BEFORE].pieces >= len(older & freed)


@pytest.mark.parametrize(
    ("file", "own"),
    [
        ("/home/ann/train.py", True),
        ("C:\\Users\\ann\\train.py", True),
        ("/tmp/ipykernel_12/3456.py", True),
        ("<ipython-input-3-abc>", True),
        ("/home/ann/torch/train.py", True),
        ("/workspace/nbtf_study/train.py", True),
        (f"{TORCH}/nn/functional.py", False),
        ("/usr/lib/python3.11/contextlib.py", False),
        ("/usr/lib/python3/dist-packages/numpy/core.py", False),
        ("C:\\Python312\\Lib\\runpy.py", False),
        ("/src/pytorch/torch/nn/functional.py", False),
        ("/src/pytorch/torch/_tensor.py", False),
        ("/src/pytorch/c10/core/Allocator.cpp", False),
        ("??", False),
        ("<frozen runpy>", False),
        ("<eval_with_key>.3", False),
        ("/tmp/torchinductor_ann/ab/cab.py", False),
    ],
)
def test_own_files(file: str, own: bool) -> None:
    assert is_own(file) is own


@pytest.mark.parametrize(
    ("stack", "words", "own", "module", "phase"),
    [
        (_stack(), "", False, "", ""),
        (_stack(OWN), "train.py:9 in step", True, "", ""),
        (_stack(Frame("??", 0, "c10::Allocator"), OWN), "train.py:9 in step", True, "", ""),
        (_stack(Frame(f"{TORCH}/optim/adam.py", 5, "step"), OWN), "train.py:9 in step", True, "", "update"),
        (
            _stack(Frame(f"{TORCH}/autograd/graph.py", 8, "_engine_run_backward"), OWN),
            "train.py:9 in step",
            True,
            "",
            "backward",
        ),
        (_stack(Frame(f"{TORCH}/autograd/grad_mode.py", 8, "__init__"), OWN), "train.py:9 in step", True, "", ""),
        (_stack(Frame("", 0, "torch::autograd::Engine::run")), "torch::autograd::Engine::run", False, "", "backward"),
        (_stack(Frame(f"{TORCH}/_tensor.py", 3, "copy")), "_tensor.py:3 in copy", False, "", ""),
        (
            _stack(
                Frame(f"{TORCH}/nn/modules/conv.py", 5, "forward"),
                CALL,
                Frame(f"{TORCH}/nn/modules/container.py", 5, "forward"),
                CALL,
                Frame("/home/ann/model.py", 7, "forward"),
                CALL,
                OWN,
            ),
            "model.py:7 in forward",
            True,
            "model.py:7 > conv",
            "forward",
        ),
        (  # checkpointed: the forward pass runs once more within the backward pass
            _stack(
                Frame("/home/ann/model.py", 7, "forward"),
                CALL,
                Frame(f"{TORCH}/utils/checkpoint.py", 1, "recompute"),
                Frame(f"{TORCH}/autograd/function.py", 8, "backward"),
                OWN,
            ),
            "model.py:7 in forward",
            True,
            "model",
            "backward",
        ),
        (  # the closure of an optimizer
            _stack(Frame("/home/ann/model.py", 7, "forward"), CALL, Frame(f"{TORCH}/optim/lbfgs.py", 1, "step"), OWN),
            "model.py:7 in forward",
            True,
            "model",
            "forward",
        ),
        (
            _stack(Frame(f"{TORCH}/utils/data/dataloader.py", 5, "__next__"), OWN),
            "train.py:9 in step",
            True,
            "",
            "input",
        ),
    ],
)
def test_origins(stack: Stack, words: str, own: bool, module: str, phase: str) -> None:
    origin = origin_of(stack)
    assert (origin.words, origin.is_own, origin.module, origin.phase) == (words, own, module, phase)


def test_exported_paths_name_no_person() -> None:
    assert without_person(OWN) == Frame("train.py", 9, "step")
    assert without_person(CALL).file == "site-packages/torch/nn/modules/module.py"


def test_the_summary_shows_peak_holders_failures_and_unknowns() -> None:
    record = history(4, text="")
    snapshot = OpenedSnapshot.of(snapshot_of(dictionary([record], 40)))
    text = str(snapshot)
    assert snapshot.failures()
    for words in (
        "run.pickle",
        "GPU:0",
        "peak allocated",
        "peak reserved",
        "model_",
        "out of memory",
        "history begins",
    ):
        assert words in text, words
    assert len(text.splitlines()) < 25
    assert repr(snapshot) == f"<run.pickle: 1 device, {len(record.events) - 40} events>"


def test_wrong_questions_are_refused() -> None:
    snapshot = OpenedSnapshot.of(snapshot_of(dictionary([history(2, text="")])))
    with pytest.raises(ValueError, match=r"no device 3\. Its devices: 0"):
        snapshot.peak(3)
    with pytest.raises(ValueError, match="by line, module or phase"):
        snapshot.holders(by="colour")
    with pytest.raises(ValueError, match="not a state"):
        snapshot.holders(at=10**9)
    with pytest.raises(ValueError, match="not a state"):
        snapshot.holders(at="noon")
