"""Can everything that a save accepted be read again? A share of what `python -m tests.storage.saved_and_read` tries."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest

import nbtf as tf
from nbtf._storage import limits
from nbtf._storage.limits import UnsavableError
from nbtf.cli import translation
from nbtf.cli.command_error import CommandError
from nbtf.keras.saving.arrays import variables_of
from tests.storage.saved_and_read import large_objects, search
from tests.storage.saved_subjects import SUBJECTS, by_checkpoint, by_model, by_saved_model, small_model

keras = tf.keras
COUNT = 12


@pytest.mark.parametrize("name", SUBJECTS)
def test_what_a_save_accepted_is_read_and_what_it_refused_leaves_the_earlier_save(name: str) -> None:
    counts, failures = search(SUBJECTS[name], range(10_000, 10_000 + COUNT))

    assert failures == []
    assert counts["saved"] > 0


def variables(count: int) -> Any:
    return by_checkpoint([tf.Variable(float(number)) for number in range(count - 1)])  # and the graph of the objects


def key(nbytes: int) -> Any:
    return by_checkpoint({"k" * (nbytes - len("tree//.ATTRIBUTES/VARIABLE_VALUE")): tf.Variable(1.0)})


def axes(count: int) -> Any:
    return by_checkpoint([tf.Variable(tf.zeros([1] * count))])


def one_text(nbytes: int) -> Any:
    return by_checkpoint([tf.Variable([b"x" * nbytes])])


def nested_modules(levels: int) -> Any:
    attributes: Any = {}
    for _ in range(levels // 2):
        attributes = {"inner": [attributes]}
    return by_saved_model(attributes)


def nested_models(levels: int) -> Any:
    model = small_model()
    for _ in range(levels // 3):
        model = keras.Sequential([keras.Input((1,)), model])
    return by_model(model, "m.keras")


@pytest.mark.parametrize(
    ("name", "maximum", "build"),
    [
        ("ARRAYS", 6, variables),
        ("NAME_BYTES", 100, key),
        ("AXES", 5, axes),
        ("TEXT_BYTES", 1000, one_text),
    ],
)
def test_each_limit_is_reached_and_not_passed(
    name: str, maximum: int, build: Callable[[int], Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit = getattr(limits, name)
    monkeypatch.setattr(limit, "maximum", maximum)
    build(maximum).save(tmp_path)
    with pytest.raises(
        UnsavableError, match=rf"index was not saved: {maximum + 1:,} {limit.bounds}; the limit is {maximum:,}"
    ):
        build(maximum + 1).save(tmp_path)

    assert build(maximum).difference(tmp_path) == ""


@pytest.mark.parametrize(
    ("name", "build"), [("DOCUMENT_LEVELS", nested_models), ("OBJECT_LEVELS", nested_modules)], ids=["json", "objects"]
)
def test_each_limit_of_depth_is_shared(
    name: str, build: Callable[[int], Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit = getattr(limits, name)
    monkeypatch.setattr(limit, "maximum", 40)
    deep = re.escape(f"was not saved: 41 {limit.bounds}; the limit is 40. Nest less deeply")
    saved = build(25)
    saved.save(tmp_path)
    for levels in (60, 80):
        with pytest.raises(UnsavableError, match=deep):
            build(levels).save(tmp_path)

    assert saved.difference(tmp_path) == ""


def test_a_document_as_large_as_may_be_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = small_model()
    by_model(model, "m").save(tmp_path)
    (config,) = tmp_path.rglob("config.json")
    monkeypatch.setattr(limits.DOCUMENT_BYTES, "maximum", config.stat().st_size)
    by_model(model, "m").save(tmp_path)
    monkeypatch.setattr(limits.DOCUMENT_BYTES, "maximum", 1000)
    with pytest.raises(UnsavableError, match=r"bytes of JSON; the limit is 1,000\. Set a large vocabulary"):
        by_model(model, "m").save(tmp_path)


def test_a_catalogue_that_could_not_be_read_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("babel")
    catalogue = translation.Catalog("ja")
    translation.write(tmp_path / "a.po", catalogue)
    before = (tmp_path / "a.po").read_bytes()
    catalogue.add("x" * 1000)
    monkeypatch.setattr(limits.CATALOGUE_BYTES, "maximum", 500)
    with pytest.raises(CommandError, match="bytes in one translation catalogue; the limit is 500"):
        translation.write(tmp_path / "a.po", catalogue)

    assert (tmp_path / "a.po").read_bytes() == before


@pytest.mark.parametrize("name", ["file", "args", "allow_pickle", "x.npy", "a\0b", "a/b..c", "\x01", "\U0010ffff"])
def test_a_variable_may_have_almost_any_name(name: str, tmp_path: Path) -> None:
    saved = tf.Variable(1.0), tf.Variable(0.0)
    tf.compat.v1.train.Saver({name: saved[0]}).save(None, f"{tmp_path}/model")
    tf.compat.v1.train.Saver({name: saved[1]}).restore(None, f"{tmp_path}/model")

    assert saved[1].numpy() == 1.0


@pytest.mark.parametrize("name", ["", "\0a", "a\ud800"])
def test_a_name_that_no_checkpoint_has_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(UnsavableError, match=r"was not saved: the name '.*' (has a character that|is empty or starts)"):
        tf.compat.v1.train.Saver({name: tf.Variable(1.0)}).save(None, f"{tmp_path}/model")


def test_a_part_without_values_may_not_have_such_a_name_either(tmp_path: Path) -> None:
    with pytest.raises(UnsavableError, match=r"was not saved: the name 'a\\ud800' has a character that UTF-8"):
        tf.train.Checkpoint(parts={"a\ud800": []}).write(tmp_path / "c")


def test_a_text_that_ends_with_a_nul_is_refused_by_an_archive_instead_of_cut(tmp_path: Path) -> None:
    module = tf.Module()
    module.text = tf.Variable(b"a\0")
    with pytest.raises(UnsavableError, match=r"the text b'a\\x00' ends with a NUL byte, which NumPy's files drop"):
        tf.saved_model.save(module, tmp_path / "s")


def test_two_variables_of_one_name_are_refused() -> None:
    module = tf.Module()
    module.parts = {1: tf.Variable(1.0), "1": tf.Variable(2.0)}
    with pytest.raises(ValueError, match="Two variables have the name 'parts/1': use keys without '/'"):
        variables_of(module)


def test_objects_inside_one_another_are_restored_more_deeply_than_the_stack(tmp_path: Path) -> None:
    def chain(value: float) -> tuple[Any, list[Any]]:
        modules = [tf.Module() for _ in range(1200)]
        for module, following in zip(modules, [*modules[1:], modules[0]], strict=True):
            module.following, module.value = following, tf.Variable(value)
        return modules[0], modules

    tf.train.Checkpoint(chain(1.0)[0]).write(tmp_path / "c")
    first, modules = chain(0.0)
    tf.train.Checkpoint(first).read(tmp_path / "c").assert_consumed()

    assert {float(module.value.numpy()) for module in modules} == {1.0}


@pytest.mark.parametrize("function", [tf.nn.relu, tf.math.tanh, tf.nn.gelu, tf.nn.softmax, tf.sigmoid])
def test_a_model_with_a_function_of_tensorflow_as_activation_is_read(function: Any, tmp_path: Path) -> None:
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(2, activation=function)])

    saved = by_model(model, "m.keras")
    saved.save(tmp_path)

    assert saved.difference(tmp_path) == ""


def test_a_model_has_no_two_layers_of_one_name() -> None:
    inputs = keras.Input((2,))
    outputs = keras.layers.Dense(2, name="a")(keras.layers.Dense(2, name="a")(inputs))

    with pytest.raises(ValueError, match='The name "a" is used 2 times in the model'):
        keras.Model(inputs, outputs)


@pytest.mark.parametrize("dtype", ["datetime64[s]", [("a", "i4")], "O"])
def test_an_array_that_no_archive_has_is_left_out_with_a_warning(
    dtype: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = tf.Module()
    module.array = np.zeros(2, dtype)
    logger = Mock()
    monkeypatch.setattr("nbtf.saved_model.writing.get_logger", lambda: logger)
    tf.saved_model.save(module, tmp_path / "s")

    assert "Module.array (ndarray)" in str(logger.warning.call_args)
    assert not hasattr(tf.saved_model.load(tmp_path / "s"), "array")


def test_models_40_deep_and_variables_of_40_axes_are_saved_and_read(tmp_path: Path) -> None:
    for saved in large_objects(1, 1):
        saved.save(tmp_path)
        assert saved.difference(tmp_path) == ""
