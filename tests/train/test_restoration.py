"""Do variables that are made after `restore` get their values, and does the status say what TensorFlow's says?"""

from __future__ import annotations

import gc
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nbtf as tf
from tests.rings import seeds


def saved(folder: Path, **parts: Any) -> str:
    return tf.train.Checkpoint(**parts).save(folder / "ckpt")


def test_an_attribute_that_comes_later_is_restored(tmp_path: Path) -> None:
    checkpoint: Any = tf.train.Checkpoint()
    status = checkpoint.restore(saved(tmp_path, v=tf.Variable(5.0)))
    checkpoint.v = tf.Variable(0.0)

    assert float(checkpoint.v) == 5.0
    status.assert_consumed()
    checkpoint.v = tf.Variable(1.0)
    assert float(checkpoint.v) == 1.0  # it is restored once


def test_lists_dictionaries_and_tuples_that_come_later_are_restored(tmp_path: Path) -> None:
    path = saved(
        tmp_path,
        items=[tf.Variable(1.0), [tf.Variable(2.0)]],
        names={"a": tf.Variable(3.0)},
        pair=(tf.Variable(4.0), {"b": tf.Variable(5.0)}),
    )
    checkpoint: Any = tf.train.Checkpoint(items=[])
    status = checkpoint.restore(path)
    checkpoint.items.append(tf.Variable(0.0))
    checkpoint.items.append([])
    checkpoint.items[1].append(tf.Variable(0.0))
    checkpoint.names = {}
    checkpoint.names["a"] = tf.Variable(0.0)
    checkpoint.pair = (tf.Variable(0.0), {"b": tf.Variable(0.0)})
    status.assert_consumed()

    leaves = [*tf.nest.flatten(checkpoint.items), *checkpoint.names.values(), *tf.nest.flatten(checkpoint.pair)]
    assert [float(leaf) for leaf in leaves] == [1.0, 2.0, 3.0, 4.0, 5.0]


def test_either_name_of_a_shared_variable_restores_it(tmp_path: Path) -> None:
    shared = tf.Variable(5.0)
    path = saved(tmp_path, x=shared, y=shared)
    y = tf.Variable(0.0)
    tf.train.Checkpoint(y=y).restore(path).expect_partial()
    both = tf.Variable(0.0)
    tf.train.Checkpoint(x=both, y=both).restore(path).assert_consumed()

    assert (float(y), float(both)) == (5.0, 5.0)


def test_two_variables_for_a_shared_one_are_named(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    shared = tf.Variable(5.0)
    first, second = tf.Variable(0.0), tf.Variable(1.0)
    tf.train.Checkpoint(x=first, y=second).restore(saved(tmp_path, x=shared, y=shared))

    assert "Inconsistent references when loading the checkpoint" in caplog.text
    assert (float(first), float(second)) == (5.0, 1.0)


def test_an_unbuilt_model_and_its_optimizer_are_restored_when_they_are_built(tmp_path: Path) -> None:
    def program() -> tuple[Any, Any]:
        layers = tf.keras.layers
        model = tf.keras.Sequential([layers.Dense(3, activation="relu"), layers.BatchNormalization(), layers.Dense(1)])
        return model, tf.keras.optimizers.Adam(0.1)

    def train(model: Any, optimizer: Any) -> list[Any]:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(model(np.ones((2, 4), np.float32), training=True) ** 2)
        optimizer.apply(tape.gradient(loss, model.trainable_variables), model.trainable_variables)
        return [weight.tolist() for weight in model.get_weights()]

    model, optimizer = program()
    train(model, optimizer)
    path = saved(tmp_path, model=model, optimizer=optimizer)
    expected = train(model, optimizer)
    model, optimizer = program()
    status = tf.train.Checkpoint(model=model, optimizer=optimizer).restore(path)
    status.assert_existing_objects_matched()
    with pytest.raises(AssertionError, match="Unresolved object in checkpoint"):
        status.assert_consumed()

    assert train(model, optimizer) == expected
    status.assert_consumed()


class Net(tf.keras.Model):
    """A model that makes its parts in three different moments."""

    def __init__(self) -> None:
        super().__init__()
        self.first = tf.keras.layers.Dense(2)
        self.blocks = [tf.keras.layers.Dense(2)]

    def build(self, input_shape: Any) -> None:
        self.scale = self.add_weight(shape=(), initializer="ones", name="scale")
        self.add_weight(shape=(2,), name="loose")
        self.blocks.append(tf.keras.layers.Dense(1))

    def call(self, x: Any) -> Any:
        for layer in (self.first, *self.blocks):
            x = layer(x) * self.scale
        return x


def test_a_subclassed_model_is_restored_as_it_is_built(tmp_path: Path) -> None:
    x = np.ones((1, 3), np.float32)
    model, other = Net(), Net()
    model(x)
    for weight in model.weights:
        weight.assign(np.random.default_rng(3).normal(size=weight.shape))
    status = tf.train.Checkpoint(other).read(tf.train.Checkpoint(model).write(tmp_path / "ckpt"))

    assert other(x).numpy().tolist() == model(x).numpy().tolist()
    assert [one.tolist() for one in other.get_weights()] == [one.tolist() for one in model.get_weights()]
    status.assert_consumed()


def test_modules_that_make_variables_when_first_called_are_restored(tmp_path: Path) -> None:
    class Layer(tf.Module):
        def __call__(self, x: Any) -> Any:
            if not hasattr(self, "w"):
                self.w = tf.Variable(tf.ones([2, 2]))
            return x @ self.w

    class Stack(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = [Layer(), Layer()]

        def __call__(self, x: Any) -> Any:
            for layer in self.layers:
                x = layer(x)
            return x

    x, stack, other = tf.constant([[1.0, 2.0]]), Stack(), Stack()
    stack(x)
    stack.layers[1].w.assign([[1.0, 2.0], [3.0, 4.0]])
    status = tf.train.Checkpoint(m=other).restore(saved(tmp_path, m=stack))

    assert other(x).numpy().tolist() == stack(x).numpy().tolist()
    status.assert_consumed()


def test_the_later_of_two_checkpoints_counts(tmp_path: Path) -> None:
    checkpoint: Any = tf.train.Checkpoint()
    for folder, value in (("a", 1.0), ("b", 2.0)):
        checkpoint.restore(saved(tmp_path / folder, v=tf.Variable(value))).expect_partial()
    checkpoint.v = tf.Variable(0.0)

    assert float(checkpoint.v) == 2.0


# ---- what the status says


@pytest.mark.parametrize(
    ("parts", "check", "text"),
    [
        ({"v": 0.0}, "assert_existing_objects_matched", None),
        ({"v": 0.0}, "assert_nontrivial_match", None),
        ({"v": 0.0}, "assert_consumed", r"^Unresolved object in checkpoint \(root\)\.w: attributes \{"),
        (
            {"z": 0.0},
            "assert_existing_objects_matched",
            "^Found 1 Python objects that were not bound .* Showing 1 of 1",
        ),
        ({"z": 0.0}, "assert_consumed", "^Found 1 Python objects that were not bound to checkpointed values"),
    ],
    ids=["existing", "nontrivial", "unresolved", "unmatched", "both"],
)
def test_the_status_complains_as_that_of_tensorflow(
    tmp_path: Path, parts: dict[str, float], check: str, text: str | None
) -> None:
    path = saved(tmp_path, v=tf.Variable(1.0), w=tf.Variable(2.0))
    checkpoint = tf.train.Checkpoint(**{name: tf.Variable(value) for name, value in parts.items()})
    status: Any = checkpoint.restore(path).expect_partial()

    if text is None:
        assert getattr(status, check)() is status
    else:
        with pytest.raises(AssertionError, match=text):
            getattr(status, check)()
    assert (status.initialize_or_restore(), status.run_restore_ops()) == (None, None)


def test_nothing_is_restored_from_none() -> None:
    status: Any = tf.train.Checkpoint(v=tf.Variable(0.0)).restore(None)

    for check in (status.assert_consumed, status.assert_existing_objects_matched, status.assert_nontrivial_match):
        with pytest.raises(AssertionError, match="No checkpoint specified"):
            check()
    assert status.expect_partial() is status
    assert status.initialize_or_restore() is None


@pytest.mark.parametrize("partial", [False, True], ids=["unexpected", "expected"])
def test_values_that_nobody_took_are_named_in_the_end(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, partial: bool
) -> None:
    checkpoint = tf.train.Checkpoint(v=tf.Variable(0.0))
    status: Any = checkpoint.restore(saved(tmp_path, v=tf.Variable(1.0), q=[tf.Variable(2.0)]))
    if partial:
        status.expect_partial()
    assert caplog.messages == []
    del checkpoint, status
    gc.collect()

    lines = ["Value in checkpoint could not be found in the restored object: (root).q.0"]
    assert caplog.messages[1:] == ([] if partial else lines)
    assert len(caplog.messages) == (0 if partial else 2)


# ---- a search: whenever `restore` is called while objects are made, all values come back

Path_ = tuple[str, ...]


def random_steps(chance: random.Random) -> list[tuple[Path_, str]]:
    """Returns paths in an order in which objects can be made, each with what is made there."""
    steps: list[tuple[Path_, str]] = []
    holders: list[Path_] = [()]
    sizes: dict[Path_, int] = {(): 0}
    for _ in range(chance.randint(4, 14)):
        holder = chance.choice(holders)
        path = (*holder, str(sizes[holder]))
        sizes[holder] += 1
        sort = chance.choice(["variable", "variable", "module", "list", "dict"])
        steps.append((path, sort))
        if sort != "variable":
            holders.append(path)
            sizes[path] = 0
    return steps


def make(root: Any, path: Path_, sort: str, value: float) -> None:
    """Makes an object where the program would: `root.n0[1]["n2"] = tf.Module()`."""
    owner = root
    for name in path[:-1]:
        owner = part_of(owner, name)
    made: Any = {"variable": lambda: tf.Variable(value), "module": tf.Module, "list": list, "dict": dict}[sort]()
    if isinstance(owner, list):
        owner.append(made)
    elif isinstance(owner, dict):
        owner[f"n{path[-1]}"] = made
    else:
        setattr(owner, f"n{path[-1]}", made)


def part_of(owner: Any, name: str) -> Any:
    if isinstance(owner, list):
        return owner[int(name)]
    return owner[f"n{name}"] if isinstance(owner, dict) else getattr(owner, f"n{name}")


@pytest.mark.parametrize("seed", seeds(40))
def test_the_moment_of_restoring_makes_no_difference(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    steps = random_steps(chance)
    original, restored = tf.train.Checkpoint(), tf.train.Checkpoint()
    for number, (path, sort) in enumerate(steps):
        make(original, path, sort, 1.0 + number)
    file = original.save(tmp_path / "ckpt")
    moment = chance.randint(0, len(steps))
    for path, sort in steps[:moment]:
        make(restored, path, sort, 0.0)
    status = restored.restore(file)
    for path, sort in steps[moment:]:
        make(restored, path, sort, 0.0)

    status.assert_consumed()
    for number, (path, sort) in enumerate(steps):
        if sort == "variable":
            variable: Any = restored
            for name in path:
                variable = part_of(variable, name)
            assert float(variable) == 1.0 + number, path
