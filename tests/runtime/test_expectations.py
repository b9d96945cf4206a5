"""Do recordings say what is not as it was expected, and nothing where all is?"""

from __future__ import annotations

import pickle
from types import SimpleNamespace

import pytest

import nbtf as tf
from nbtf._runtime import expectations
from nbtf._runtime.expectations import Account, MemoryUse, check_memory, exact, memory_use, size_in_bytes
from tests.machines import machine


def _product(device: str) -> tf.runtime.Recording:
    with tf.runtime.recording() as record, tf.device(device):
        a = tf.constant([[1.0, 2.0]])
        tf.matmul(a, a, transpose_b=True)
    return record


def test_ops_where_they_belong_pass() -> None:
    with machine(2):
        _product("GPU:1").expect("MatMul=GPU:1", "_Eager*=/gpu:1", no_copies=True)


def test_op_elsewhere_is_told_with_the_reason_and_the_line() -> None:
    with machine(2):
        record = _product("GPU:7")

        undo = tf.runtime.tell_code_lines(lambda site: "a line" if site else "")
        with pytest.raises(AssertionError) as caught:
            record.expect("MatMul=GPU:1")
        undo()

    assert isinstance(caught.value, tf.runtime.ExpectationError)
    assert [
        "placement is not as expected (- expected, + seen)",
        "- MatMul on GPU:1",
        "+ MatMul on GPU:0 (simulated): asked for GPU:7, soft placement",
        "    a line",
    ] == str(caught.value).splitlines()


def test_op_that_did_not_run_is_not_as_expected() -> None:
    with pytest.raises(tf.runtime.ExpectationError) as caught:
        _product("CPU:0").expect("Matmul=CPU:0")

    assert ("- Matmul on CPU:0", "+ no Matmul; the ops that ran: MatMul") == caught.value.lines


def test_line_is_file_and_number_without_folders() -> None:
    with pytest.raises(tf.runtime.ExpectationError) as caught:
        _product("CPU:0").expect("MatMul=GPU:0")

    assert caught.value.lines[-1].startswith("    test_expectations.py, line ")


def test_copy_of_a_tensor_is_told_but_not_the_way_of_a_value_to_its_device_and_back() -> None:
    with machine(2), tf.runtime.recording() as record:
        a = tf.constant([1.0, 2.0])
        with tf.device("GPU:1"):
            print(tf.add(a, [1.0, 2.0]))

        undo = tf.runtime.tell_code_lines(lambda _: "")
        with pytest.raises(tf.runtime.ExpectationError) as caught:
            record.expect(no_copies=True)
        undo()

    expected = ("- no copies", "+ 1 copy from GPU:0 (simulated) to GPU:1 (simulated), 8 B")
    assert expected == caught.value.lines


def test_copies_are_told_with_the_line_of_the_first() -> None:
    with machine(1):
        with tf.runtime.recording() as record:
            a = tf.constant([1.0, 2.0])
            a.cpu()
            a.cpu()
        first, *_ = tf.runtime.copies_of_tensors(record.events)

        undo = tf.runtime.tell_code_lines(lambda site: "the first" if site == first.site else "another")
        with pytest.raises(tf.runtime.ExpectationError) as caught:
            record.expect(no_copies=True)
        undo()

    expected = ("- no copies", "+ 2 copies from GPU:0 (simulated) to CPU:0, 16 B", "    the first")
    assert expected == caught.value.lines


def test_copies_are_told_though_their_events_are_no_longer_kept() -> None:
    with machine(2):
        with tf.runtime.recording(capacity=1) as record:
            a = tf.constant([1.0, 2.0])
            with tf.device("GPU:1"):
                tf.negative(a)
                tf.negative(a).numpy()

        with pytest.raises(tf.runtime.ExpectationError) as caught:
            record.expect(no_copies=True)

    expected = ("- no copies", "+ 2 copies from GPU:0 (simulated) to GPU:1 (simulated), 16 B")
    assert expected == caught.value.lines


def test_copies_are_uploads_moves_and_reads() -> None:
    with machine(2), tf.runtime.recording() as record:
        a = tf.constant([1.0, 2.0])
        a.gpu(1).cpu()
        print(a)

    told = [(event.kind, event.target[-5:]) for event in record.events if isinstance(event, tf.runtime.Copied)]
    moved = [event.target[-5:] for event in tf.runtime.copies_of_tensors(record.events)]
    assert [("upload", "GPU:0"), ("move", "GPU:1"), ("move", "CPU:0"), ("read", "CPU:0")] == told
    assert ["GPU:1", "CPU:0"] == moved


@pytest.mark.parametrize("rule", ["MatMul", "=GPU:1", "MatMul=", "MatMul=banana"])
def test_text_that_is_no_rule_is_refused(rule: str) -> None:
    with pytest.raises(ValueError, match="Expected OP=DEVICE"):
        _product("CPU:0").expect(rule)


def test_memory_is_told_before_at_its_peak_and_after() -> None:
    with machine(1):
        kept = []
        with tf.runtime.recording() as record:
            a = tf.zeros([256])
            kept.append(tf.ones([64]))
            del a

        assert [("GPU:0", 1280, 2816, 1536, 256)] == [
            (use.device, use.before, use.peak, use.after, use.kept) for use in record.memory
        ]


def test_peak_is_that_of_the_recording_though_its_events_are_no_longer_kept() -> None:
    with machine(1):
        tf.zeros([4096])
        with tf.runtime.recording(capacity=1) as record:
            tf.zeros([256])
            tf.zeros([16])

        assert [(1280, 2560)] == [(use.before, use.peak) for use in record.memory]
        assert 2560 < tf.config.experimental.get_memory_info("GPU:0")["peak"]


def test_peak_counts_what_an_op_had_before_it_failed() -> None:
    with machine(1):
        gpu = tf.config.list_physical_devices("GPU")[0]
        tf.config.set_logical_device_configuration(gpu, [tf.config.LogicalDeviceConfiguration(memory_limit=30)])
        a, *_ = [tf.zeros([mib, 2**18]) for mib in (8, 8, 6)]  # of the halves of `a` only one fits beside them
        with tf.runtime.recording() as record, pytest.raises(tf.errors.ResourceExhaustedError):
            tf.split(a, 2)

        (use,) = record.memory
        assert tf.config.experimental.get_memory_info("GPU:0")["peak"] == use.peak >= use.before + 4 * 2**20


def test_memory_within_bounds_passes_and_outside_is_told() -> None:
    with machine(1):
        with tf.runtime.recording() as record:
            a = tf.zeros([256])
        record.expect_memory(at_most="2.5 KiB", kept=1024)

        with pytest.raises(tf.runtime.ExpectationError) as caught:
            record.expect_memory(at_most="2 KiB", kept=0)

    assert "/device:GPU:0" in a.device
    assert (
        "- GPU:0 (simulated): peak at most 2,048 B",
        "+ GPU:0 (simulated): peak 2,560 B",
        "- GPU:0 (simulated): kept at most 0 B",
        "+ GPU:0 (simulated): kept 1,024 B",
    ) == caught.value.lines


def test_memory_stays_as_it_was_at_the_end_of_the_block() -> None:
    with machine(1):
        with tf.runtime.recording() as record:
            a = tf.zeros([256])
        b = tf.zeros([256])

        assert (a.device, [1024]) == (b.device, [use.kept for use in record.memory])


def test_memory_of_libraries_on_a_card_counts_together(monkeypatch: pytest.MonkeyPatch) -> None:
    cards = [SimpleNamespace(name="CPU:0", cuda=None), SimpleNamespace(name="GPU:0", cuda=1)]
    monkeypatch.setattr(expectations, "devices", lambda: cards)
    uses = [MemoryUse("GPU:0", False, 0, 10, 0), MemoryUse("cuda:1", False, 0, 20, 0, "PyTorch")]

    with pytest.raises(tf.runtime.ExpectationError) as caught:
        check_memory(uses, 24, None)

    expected = ("- cuda:1 (nbtf and PyTorch): peak at most 24 B", "+ cuda:1 (nbtf and PyTorch): peak 30 B")
    assert expected == caught.value.lines


def test_devices_that_share_a_card_without_a_library_count_each(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expectations, "devices", lambda: [SimpleNamespace(name=f"GPU:{i}", cuda=0) for i in (0, 1)])

    check_memory([MemoryUse(f"GPU:{i}", False, 0, 20, 0) for i in (0, 1)], 20, None)


@pytest.mark.parametrize(("at_most", "kept"), [(0, None), (None, 0)])
def test_memory_that_was_not_measured_is_not_within_a_bound(at_most: int | None, kept: int | None) -> None:
    check_memory([], None, None, ["a library"])
    with pytest.raises(tf.runtime.ExpectationError, match="not checked: a library"):
        check_memory([], at_most, kept, ["a library"])


def test_gpu_that_was_not_used_has_no_peak() -> None:
    with machine(1):
        snapshot = _product("CPU:0").snapshot()

        assert [0] == [use.peak for use in memory_use(snapshot, {"GPU:0": Account(0, 0)}, {"GPU:0": Account(0, 0)})]


def test_size_is_a_number() -> None:
    with pytest.raises(TypeError, match="nbytes"):
        exact("many")  # type: ignore[arg-type]


def test_an_account_has_the_peak_though_the_memory_is_free_again() -> None:
    with machine(1), tf.device("GPU:0"):
        tf.ones([1024])

        account = expectations.accounts()["GPU:0"]
        assert account.peak >= account.in_use + 4096


def test_a_gpu_that_holds_nothing_has_no_peak() -> None:
    with machine(1), tf.runtime.recording() as record:
        pass
    nothing = {name: Account(0, 0) for name in ("GPU:0", "GPU:7")}

    for before in (nothing, {}):
        uses = memory_use(record.snapshot(), before, nothing)
        assert [(0, 0, 0)] * 2 == [(use.before, use.peak, use.after) for use in uses]


def test_error_survives_pickling() -> None:
    error = tf.runtime.ExpectationError("placement is", (line for line in ("- a", "+ b")))

    assert str(error) == str(pickle.loads(pickle.dumps(error)))


@pytest.mark.parametrize(
    ("size", "nbytes"), [("512MiB", 512 << 20), ("1.5 kib", 1536), ("768B", 768), ("2GiB", 2 << 30), (0, 0)]
)
def test_size_is_a_number_of_bytes_or_has_a_unit(size: int | str, nbytes: int) -> None:
    assert nbytes == size_in_bytes(size)


@pytest.mark.parametrize(
    ("nbytes", "shown"),
    [((1 << 20) - 1, "1,048,575 B"), (1 << 20, "1 MiB (1,048,576 B)"), (-1 << 20, "-1 MiB (-1,048,576 B)")],
)
def test_exact_sizes_have_a_unit_from_1_mib_on(nbytes: int, shown: str) -> None:
    assert shown == exact(nbytes)


@pytest.mark.parametrize("size", ["", "x", "-1", "5 MB"])
def test_size_that_is_none_is_refused(size: str) -> None:
    with pytest.raises(ValueError, match='Invalid size "'):
        size_in_bytes(size)


def test_a_rule_for_one_gpu_does_not_hold_for_a_tenth_more() -> None:
    with machine(11):
        record = _product("GPU:10")

        with pytest.raises(AssertionError, match=r"\+ MatMul on GPU:10"):
            record.expect("MatMul=GPU:1")
        with pytest.raises(AssertionError, match="- MatMul on GPU:10"):
            _product("GPU:1").expect("MatMul=GPU:10")
