"""Do recordings have what PyTorch takes and frees of simulated cards, as they have it of nbtf's own GPUs?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import nbtf as tf
from nbtf import runtime
from nbtf.runtime import Allocated, Event, Freed, Refused

torch: Any = pytest.importorskip("torch", reason="needs PyTorch; one step of .ci/run has it")


@pytest.fixture(autouse=True)
def shared() -> Iterator[None]:
    tf.runtime.restart()
    tf.runtime.simulate_gpus(2, memory="64MiB", frameworks="torch")
    yield
    tf.runtime.restart()
    tf.runtime.simulate_gpus(0)


def of_memory(record: runtime.Recording) -> list[Allocated | Freed | Refused]:
    return [event for event in record.events if isinstance(event, Allocated | Freed | Refused)]


def test_a_tensor_that_dies_is_granted_and_freed_at_one_address() -> None:
    with runtime.recording() as record:
        x = torch.ones(1000, device="cuda:1")
        del x

    granted, freed = of_memory(record)
    assert isinstance(granted, Allocated)
    assert isinstance(freed, Freed)
    assert ("GPU:1", 4000, 4096, 2 << 20) == (runtime.short_name(granted.device), *granted[1:4])
    assert (granted.region, granted.offset) == (freed.region, freed.offset)
    assert granted.label is not None
    assert ("aten::ones", "float32", (1000,)) == granted.label[:3]


def test_levels_are_those_that_pytorch_counts() -> None:
    with runtime.recording() as record:
        kept = [torch.empty(n * 100_000, device="cuda") for n in range(1, 9)]
        del kept[2:5]
        torch.cuda.memory_allocated()

    last = of_memory(record)[-1]
    assert (torch.cuda.memory_allocated(), torch.cuda.memory_reserved()) == (last.in_use, last.pool)


def step(model: Any, optimizer: Any) -> None:
    loss = model(torch.ones(8, 64, device="cuda")).square().mean()
    loss.backward()
    optimizer.step()


def holders() -> set[tuple[str, str]]:
    with runtime.recording() as record, runtime.watch("torch"):
        model = torch.nn.Sequential(torch.nn.Linear(64, 32), torch.nn.ReLU(), torch.nn.Linear(32, 1)).cuda()
        step(model, torch.optim.Adam(model.parameters()))
    return {(event.holder, event.layer or "") for event in of_memory(record)}


def test_a_watched_step_says_for_whom_memory_is_by_module() -> None:
    pairs = holders()

    assert {"weights", "activations", "gradients", "optimizer slots"} <= {holder for holder, _ in pairs}
    assert {("activations", "0"), ("activations", "2"), ("gradients", "0"), ("gradients", "2")} <= pairs


def test_a_layer_that_runs_as_a_whole_has_its_module_too() -> None:
    with runtime.recording() as record, runtime.watch("torch"):
        model = torch.nn.ModuleDict({"rnn": torch.nn.LSTM(4, 8)}).cuda()
        output, _ = model["rnn"](torch.ones(3, 2, 4, device="cuda"))

    of_lstm = [event for event in of_memory(record) if event.label is not None and event.label.op == "aten::lstm"]
    assert of_lstm
    assert {__file__} == {event.site[0] for event in of_lstm if event.site is not None}
    assert output.is_cuda


def test_a_request_that_does_not_fit_is_refused_with_its_line() -> None:
    with runtime.recording() as record, runtime.watch("torch"), pytest.raises(torch.OutOfMemoryError):
        torch.empty(65 << 20, dtype=torch.uint8, device="cuda")

    [refused] = of_memory(record)
    assert isinstance(refused, Refused)
    assert (65 << 20, 64 << 20) == (refused.nbytes, refused.limit)
    assert refused.site is not None
    assert __file__ == refused.site[0]


def test_what_was_there_before_a_recording_stands_in_its_pictures() -> None:
    before = torch.ones(1 << 20, device="cuda")
    with runtime.recording() as record:
        after = torch.ones(1 << 20, device="cuda")
        del before

    [region] = [region for region in record.regions_before() if region.region >= 1000]
    assert [4 << 20] == [chunk.size for chunk in region.chunks if chunk.in_use]
    for view in ("plane", "stacked", "treemap"):
        assert repr(tf.notebook.memory_picture(record, view=view))
    assert after.is_cuda


def test_growing_segments_stand_in_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True")
    tf.runtime.restart()
    tf.runtime.simulate_gpus(1, memory="64MiB", frameworks="torch")
    with runtime.recording() as record:
        kept = [torch.ones(n << 20, device="cuda") for n in (1, 8, 3)]

    assert [4 << 20, 32 << 20, 12 << 20] == [event.size for event in of_memory(record) if isinstance(event, Allocated)]
    assert "48 of 64 MiB" in repr(tf.notebook.memory_picture(record))
    assert kept


def test_a_restart_leaves_pytorch_what_it_has() -> None:
    events: list[Event] = []
    stop = runtime.observe(events.append)
    try:
        with runtime.recording() as record:
            x = torch.ones(1000, device="cuda")
            tf.runtime.restart()
            del x
            torch.ones(10, device="cuda")
    finally:
        stop()

    names = [type(event).__name__ for event in of_memory(record)]
    assert ["Allocated", "Freed", "Allocated", "Freed", "Allocated", "Freed"] == names


def test_cards_that_go_give_all_back() -> None:
    with runtime.recording() as record:
        x = torch.ones(1000, device="cuda")
        tf.runtime.restart()
        tf.runtime.simulate_gpus(0)

    assert (0, 0) == (of_memory(record)[-1].in_use, of_memory(record)[-1].pool)
    del x


def test_what_would_fit_is_not_said_by_the_rules_of_another_allocator() -> None:
    with runtime.recording() as record:
        x = torch.ones(1000, device="cuda")
        tf.constant([1.0])

    with pytest.raises(NotImplementedError, match="another library"):
        record.fits("2MiB")
    assert x.is_cuda


def test_a_replay_of_the_recording_needs_what_pytorch_needed() -> None:
    torch.cuda.reset_peak_memory_stats()
    with runtime.recording() as record:
        kept = [torch.empty(n * 400_000, device="cuda") for n in range(1, 7)]
        del kept[1:4]
        kept.append(torch.empty(3_000_000, device="cuda"))
        torch.cuda.memory_allocated()

    own, expandable, smaller = (
        record.what_if(),
        record.what_if("expandable_segments:True"),
        record.what_if(card="30MiB"),
    )
    assert own.allocator == "PyTorch"
    assert (own.peak_allocated, own.peak_reserved, own.stopped) == (
        torch.cuda.max_memory_allocated(),
        torch.cuda.max_memory_reserved(),
        False,
    )
    assert own.card == 64 << 20
    assert expandable.peak_reserved % (20 << 20) == 0
    assert smaller.stopped
    assert smaller.refusal is not None
    assert smaller.refusal.requested in [event.nbytes for event in of_memory(record)]
    with pytest.raises(ValueError, match=r"Unrecognized key .allow_growth."):
        record.what_if("allow_growth:True")
