"""What every dataset can do, and how it looks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import nbtf as tf
from nbtf.errors import OutOfRangeError
from tests.ops.refusals import refused, untyped

Dataset: Any = tf.data.Dataset

SCALAR = "TensorSpec(shape=(), dtype=tf.int64, name=None)"


@pytest.mark.parametrize(
    ("make", "kind"),
    [
        (lambda ds: ds, "_RangeDataset"),
        (lambda ds: ds.map(lambda x: x), "_MapDataset"),
        (lambda ds: ds.map(lambda x: x, num_parallel_calls=tf.data.AUTOTUNE), "_ParallelMapDataset"),
        (lambda ds: ds.shuffle(2), "_ShuffleDataset"),
        (lambda ds: ds.repeat(), "_RepeatDataset"),
        (lambda ds: ds.take(1), "_TakeDataset"),
        (lambda ds: ds.prefetch(1), "_PrefetchDataset"),
        (lambda ds: ds.cache(), "CacheDataset"),
        (lambda ds: ds.filter(lambda x: True), "_FilterDataset"),
        (lambda ds: ds.flat_map(Dataset.range), "_FlatMapDataset"),
        (lambda ds: ds.with_options(tf.data.Options()), "_OptionsDataset"),
        (lambda ds: Dataset.counter(), "_ScanDataset"),
    ],
)
def test_a_dataset_reads_as_tensorflows(make: Callable[[Any], Any], kind: str) -> None:
    assert f"<{kind} element_spec={SCALAR}>" == repr(make(Dataset.range(3)))


def test_a_window_says_that_it_holds_datasets() -> None:
    expected = f"<_WindowDataset element_spec=DatasetSpec({SCALAR}, TensorShape([]))>"
    assert expected == repr(Dataset.range(3).window(2))


def test_a_dataset_is_true_even_if_empty() -> None:
    assert bool(Dataset.range(0))


def test_every_dataset_is_an_instance_of_the_class() -> None:
    assert isinstance(Dataset.range(2).batch(2), tf.data.Dataset)


def test_an_iterator_ends_as_python_or_as_tensorflow_says() -> None:
    iterator = iter(Dataset.range(1))
    assert 0 == iterator.get_next().numpy()
    refused(iterator.get_next, "End of sequence [Op:IteratorGetNext] name: ", OutOfRangeError)
    with pytest.raises(StopIteration):
        next(iterator)


def test_an_optional_says_whether_an_element_is_there() -> None:
    iterator = iter(Dataset.range(1))
    full, empty = iterator.get_next_as_optional(), iterator.get_next_as_optional()
    assert (True, 0, False) == (bool(full.has_value()), full.get_value().numpy(), bool(empty.has_value()))
    refused(empty.get_value, "The given optional does not have a value.")


def test_two_iterators_do_not_disturb_each_other() -> None:
    dataset = Dataset.range(3)
    one, other = iter(dataset), iter(dataset)
    assert [0, 0, 1, 1] == [int(next(it)) for it in (one, other, one, other)]


@pytest.mark.parametrize(("count", "text"), [(0, "Dataset was empty."), (2, "Dataset had more than one element.")])
def test_a_single_element_must_be_single(count: int, text: str) -> None:
    refused(lambda: Dataset.range(count).get_single_element(), text)


def test_applying_must_give_a_dataset() -> None:
    text = "`transformation_func` must return a `tf.data.Dataset` object. Got <class 'int'>."
    refused(lambda: Dataset.range(2).apply(lambda ds: 5), text, TypeError)


def test_options_are_kept_through_the_pipeline() -> None:
    options: Any = tf.data.Options()
    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.DATA
    later = tf.data.Options()
    later.deterministic = False
    found = Dataset.range(4).with_options(options).batch(2).with_options(later).take(1).options()
    assert tf.data.experimental.AutoShardPolicy.DATA == found.experimental_distribute.auto_shard_policy
    assert found.deterministic is False


def test_options_have_known_names_and_kinds() -> None:
    options: Any = tf.data.Options()
    with pytest.raises(AttributeError, match="Cannot set the property nope on Options"):
        options.nope = 1
    with pytest.raises(TypeError, match="Property \"deterministic\" must be of type <class 'bool'>, got: a"):
        options.deterministic = "a"


def test_the_log_shows_the_ops_of_a_pipeline(capfd: pytest.CaptureFixture[str]) -> None:
    tf.debugging.set_log_device_placement(True)
    list(Dataset.from_tensor_slices([1.0]).batch(1))
    tf.debugging.set_log_device_placement(False)
    logged = [line.split()[2] for line in capfd.readouterr().err.splitlines()]
    made = ["TensorSliceDataset", "_EagerConst", "_EagerConst", "BatchDatasetV2"]
    run = ["AnonymousIteratorV3", "MakeIterator", "IteratorGetNext", "IteratorGetNext"]
    assert [*made, *run] == logged


def test_listening_changes_nothing_where_a_device_is_asked_for() -> None:
    tf.runtime.simulate_gpus(1)
    tf.config.set_soft_device_placement(False)
    with tf.device("GPU:0"), tf.runtime.recording() as record:
        assert [0, 1] == [int(x) for x in Dataset.range(2)]
    assert {"CPU:0"} == {device for _, device in record.ops}


def test_a_name_that_is_not_there_lists_those_that_are() -> None:
    with pytest.raises(AttributeError, match=r"has no attribute 'SqlDataset'") as caught:
        untyped.data.SqlDataset  # noqa: B018

    assert caught.value.__notes__[0].startswith("Available: AUTOTUNE, Dataset, ")


def test_long_loops_keep_no_memory() -> None:
    tf.runtime.simulate_gpus(1)
    with tf.device("GPU:0"):
        used: set[int] = set()
        for batch in Dataset.range(64).shuffle(16).repeat(4).batch(8):
            moved = tf.identity(tf.cast(batch, tf.float32))
            used.add(tf.config.experimental.get_memory_info("GPU:0")["current"])
            del moved
    assert 2 >= len(used)


def test_an_input_signature_may_describe_a_dataset() -> None:
    @tf.function(input_signature=[tf.data.DatasetSpec(tf.TensorSpec([], tf.int64))])
    def total(dataset: Any) -> Any:
        return dataset.reduce(tf.constant(0, tf.int64), lambda first, second: first + second)

    assert (3, 10) == (int(total(tf.data.Dataset.range(3))), int(total(tf.data.Dataset.range(5))))
    assert tf.data.Dataset.range(3)._type_spec.is_compatible_with(tf.data.Dataset.range(5))


def test_programs_may_set_attributes_of_a_dataset() -> None:
    dataset: Any = tf.data.Dataset.range(3)
    dataset.class_names = ["a", "b"]

    assert dataset.class_names == ["a", "b"]
    with pytest.raises(AttributeError, match="no attribute 'class_names'"):
        _ = dataset.batch(2).class_names  # it belongs to one dataset
