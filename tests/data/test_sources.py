"""Where elements come from."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nbtf as tf
from nbtf.errors import NotFoundError, UnknownError
from tests.ops.refusals import refused, untyped

Dataset: Any = tf.data.Dataset


def listed(dataset: Any) -> list[Any]:
    return [value.tolist() for value in dataset.as_numpy_iterator()]


def test_rows_keep_the_structure_of_their_arrays() -> None:
    (element,) = Dataset.from_tensor_slices(([1], {"b": [2.0], "a": ["x"]})).as_numpy_iterator()
    assert (1, {"b": 2.0, "a": b"x"}) == element


def test_elements_are_tensors_on_the_cpu() -> None:
    tf.runtime.simulate_gpus(1)
    with tf.device("GPU:0"):
        values = tf.constant([1.0, 2.0])
    assert "/job:localhost/replica:0/task:0/device:CPU:0" == next(iter(Dataset.from_tensor_slices(values))).device


def test_each_loop_starts_anew() -> None:
    dataset = Dataset.range(3)
    assert listed(dataset) == listed(dataset) == [0, 1, 2]


def test_what_the_caller_changes_afterwards_does_not_reach_the_dataset() -> None:
    values = np.array([1, 2])
    dataset = Dataset.from_tensor_slices(values)
    values[0] = 7
    assert [1, 2] == listed(dataset)


def test_ragged_rows_come_back_one_by_one_and_in_batches() -> None:
    rows = Dataset.from_tensor_slices(tf.ragged.constant([[1], [2, 3]]))
    assert [[1], [2, 3]] == listed(rows)
    assert "<tf.RaggedTensor [[1], [2, 3]]>" == repr(next(iter(rows.batch(2))))


def test_the_generator_is_called_for_each_pass() -> None:
    passes: list[int] = []

    def generate() -> Iterator[int]:
        passes.append(1)
        yield 5

    dataset = Dataset.from_generator(generate, output_signature=tf.TensorSpec((), tf.int32))
    assert [] == passes
    assert ([5], [5], [1, 1]) == (listed(dataset), listed(dataset), passes)


def test_a_generator_gets_its_arguments_as_numpy_values() -> None:
    dataset = Dataset.from_generator(lambda n: iter(range(n)), args=(3,), output_types=tf.int64)
    assert [0, 1, 2] == listed(dataset)


def test_old_types_and_shapes_describe_elements() -> None:
    types, shapes = (tf.int32, tf.float32), ((), (None,))
    dataset = Dataset.from_generator(lambda: iter([(1, [2.0])]), output_types=types, output_shapes=shapes)
    assert (tf.TensorSpec((), tf.int32), tf.TensorSpec((None,), tf.float32)) == dataset.element_spec


@pytest.mark.parametrize(
    ("yielded", "text"),
    [
        ([1], "TypeError: `generator` yielded an element of shape (1,) where an element of shape () was expected."),
        (
            "a",
            "TypeError: `generator` yielded an element that could not be converted to the expected type. The expected "
            "type was int32, but the yielded element was a.",
        ),
    ],
)
def test_what_a_generator_yields_must_be_as_described(yielded: Any, text: str) -> None:
    dataset = Dataset.from_generator(lambda: iter([yielded]), output_signature=tf.TensorSpec((), tf.int32))
    refused(lambda: list(dataset), text)


def test_the_error_of_a_generator_is_passed_on() -> None:
    dataset = Dataset.from_generator(lambda: (1 // n for n in (0,)), output_signature=tf.TensorSpec((), tf.int32))
    refused(lambda: list(dataset), "ZeroDivisionError: ", UnknownError)


def test_lines_of_files_lose_their_ends(tmp_path: Path) -> None:
    first, second = tmp_path / "a.txt", tmp_path / "b.txt"
    first.write_bytes(b"one\r\n\ntwo")
    second.write_bytes(b"three\n")
    dataset = tf.data.TextLineDataset([str(first), str(second)])
    assert [b"one", b"", b"two", b"three"] == list(dataset.as_numpy_iterator())


def test_a_file_that_is_not_there_is_missed_when_a_line_is_asked_for() -> None:
    dataset = tf.data.TextLineDataset("nowhere.txt")
    refused(lambda: next(iter(dataset)), "nowhere.txt; No such file or directory", NotFoundError)


def test_files_are_listed_in_order_unless_shuffled(tmp_path: Path) -> None:
    names = [tmp_path / f"{letter}.txt" for letter in "cab"]
    for name in names:
        name.touch()
    found = Dataset.list_files(str(tmp_path / "*.txt"), shuffle=False).as_numpy_iterator()
    assert sorted(str(name).encode() for name in names) == list(found)


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda: Dataset.from_tensor_slices(5), ValueError, "Unbatching a tensor is only supported for rank >= 1"),
        (lambda: Dataset.from_tensor_slices(([1, 2], [3])), ValueError, "Dimensions 2 and 1 are not compatible"),
        (lambda: Dataset.from_tensor_slices({}), ValueError, "Invalid `element`. `element` should not be empty."),
        (
            lambda: Dataset.range(),
            ValueError,
            "Invalid `args`. The length of `args` should be between 1 and 3 but was 0.",
        ),
        (lambda: Dataset.range("a"), TypeError, "Cannot convert 'a' to EagerTensor of dtype int64"),
        (lambda: Dataset.from_generator(5, tf.int32), TypeError, "`generator` must be a Python callable."),
        (lambda: Dataset.from_generator(list), TypeError, "To specify the output signature you need to provide either"),
        (lambda: untyped.data.Dataset(), TypeError, "Can't instantiate abstract class DatasetV2"),
    ],
)
def test_wrong_arguments_are_refused_in_tensorflows_words(make: Any, error: type[Exception], text: str) -> None:
    refused(make, text, error)


def test_a_step_of_zero_leads_nowhere() -> None:
    refused(lambda: Dataset.range(1, 2, 0), "step must be a non-zero integer.")


def test_random_numbers_are_those_recorded_from_tensorflow() -> None:
    assert [2870909127, 3455438759, 4052121393] == listed(Dataset.random(seed=1).take(3))


def test_files_are_named_as_tensorflow_names_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "a.txt").touch()
    (tmp_path / "b.txt").touch()
    monkeypatch.chdir(tmp_path)

    names = {
        pattern: [name.decode() for name in Dataset.list_files(pattern).as_numpy_iterator()]
        for pattern in ("b.txt", "*.txt", "./*.txt", "sub/*.txt", "s*/*")
    }
    assert list(names.values()) == [["b.txt"], ["./b.txt"], ["./b.txt"], ["sub/a.txt"], ["./sub/a.txt"]]
