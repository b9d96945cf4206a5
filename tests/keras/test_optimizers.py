"""Do optimizers change weights by their formulas, on one device and on several?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nbtf as tf
from nbtf.keras import optimizers
from nbtf.keras.constraints import NonNeg
from nbtf.keras.optimizers import schedules
from nbtf.keras.variables import Variable
from tests.machines import machine


def gradient(number: int) -> Any:
    return tf.constant(np.sin(np.arange(4, dtype=np.float32).reshape(2, 2) + number))


def after(optimizer: Any, steps: int = 5, **traits: Any) -> list[float]:
    weight = Variable([[1.0, -2.0], [0.5, 3.0]], name="w")
    for name, value in traits.items():
        setattr(weight, name, value)
    for number in range(steps):
        optimizer.apply_gradients([(gradient(number), weight)])
    return weight.numpy().ravel().round(5).tolist()


def test_a_step_goes_down_the_gradient() -> None:
    weight = tf.Variable([1.0, 2.0])
    count = optimizers.SGD(0.5).apply_gradients([(tf.constant([1.0, -1.0]), weight)])

    assert weight.numpy().tolist() == [0.5, 2.5]
    assert int(count) == 1


def test_what_is_kept_beside_a_weight_is_named_after_it() -> None:
    optimizer = optimizers.Adam(name="adam")
    optimizer.build([Variable([1.0], name="kernel")])

    assert [one.path for one in optimizer.variables] == [
        "adam/iteration",
        "adam/learning_rate",
        "adam/kernel_momentum",
        "adam/kernel_velocity",
    ]


@pytest.mark.parametrize("name", ["SGD", "Adam", "RMSprop", "Adagrad", "Adadelta", "Adamax", "Nadam", "AdamW"])
def test_what_get_config_says_makes_the_same_optimizer(name: str) -> None:
    optimizer = getattr(optimizers, name)(0.1)
    again = optimizers.deserialize(optimizers.serialize(optimizer))

    assert type(again) is type(optimizer)
    assert after(again) == after(optimizer)


COMMON = {
    "learning_rate": 0.001,
    "weight_decay": None,
    "clipnorm": None,
    "global_clipnorm": None,
    "clipvalue": None,
}
DEFAULTS: dict[str, dict[str, Any]] = {
    "Adadelta": {
        "rho": 0.95,
        "epsilon": 1e-07,
    },
    "Adagrad": {
        "initial_accumulator_value": 0.1,
        "epsilon": 1e-07,
    },
    "Adam": {
        "beta_1": 0.9,
        "beta_2": 0.999,
        "epsilon": 1e-07,
        "amsgrad": False,
    },
    "AdamW": {
        "beta_1": 0.9,
        "beta_2": 0.999,
        "epsilon": 1e-07,
        "amsgrad": False,
        "weight_decay": 0.004,
    },
    "Adamax": {
        "beta_1": 0.9,
        "beta_2": 0.999,
        "epsilon": 1e-07,
    },
    "Ftrl": {
        "learning_rate_power": -0.5,
        "initial_accumulator_value": 0.1,
        "l1_regularization_strength": 0.0,
        "l2_regularization_strength": 0.0,
        "l2_shrinkage_regularization_strength": 0.0,
        "beta": 0.0,
    },
    "Nadam": {
        "beta_1": 0.9,
        "beta_2": 0.999,
        "epsilon": 1e-07,
    },
    "RMSprop": {
        "rho": 0.9,
        "momentum": 0.0,
        "epsilon": 1e-07,
        "centered": False,
    },
    "SGD": {
        "momentum": 0.0,
        "nesterov": False,
        "learning_rate": 0.01,
    },
}
"""What `get_config` of Keras 3 says of optimizers without arguments, but for the name."""


@pytest.mark.parametrize("name", DEFAULTS)
def test_defaults_are_those_of_keras(name: str) -> None:
    config = getattr(optimizers, name)().get_config()
    del config["name"]

    assert {**COMMON, **DEFAULTS[name]} == {**config, "learning_rate": round(config["learning_rate"], 9)}


@pytest.mark.parametrize("momentum", [-0.1, 1.1])
def test_a_momentum_that_grows_without_end_is_refused(momentum: float) -> None:
    with pytest.raises(ValueError, match="momentum"):
        optimizers.SGD(momentum=momentum)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("SGD", {"rate": 0.1}),
        ("SGD", {"momentum": 0}),
        ("SGD", {"momentum": "a"}),
        ("Adam", {"learning_rate": 1}),
        ("Adam", {"learning_rate": "0.1"}),
        ("Adam", {"learning_rate": None}),
        ("Adam", {"learning_rate": [0.1]}),
        ("Adam", {"name": 3}),
        ("Adam", {"name": "a/b"}),
        ("Ftrl", {"learning_rate_power": 1.0}),
        ("Ftrl", {"initial_accumulator_value": -1.0}),
        ("Ftrl", {"l1_regularization_strength": -1.0}),
        ("Ftrl", {"l2_regularization_strength": -1.0}),
        ("Ftrl", {"l2_shrinkage_regularization_strength": -1.0}),
    ],
)
def test_what_keras_refuses_is_refused_with_its_name(name: str, arguments: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=list(arguments)[-1]):
        getattr(optimizers, name)(**arguments)


def test_a_schedule_is_not_replaced_by_a_number() -> None:
    optimizer = optimizers.SGD(schedules.ExponentialDecay(0.1, 1, 0.5))

    with pytest.raises(TypeError, match="not settable"):
        optimizer.learning_rate = 0.1
    optimizer.learning_rate = schedules.ExponentialDecay(0.2, 1, 0.5)
    assert optimizer.get_config()["learning_rate"]["config"]["initial_learning_rate"] == 0.2


def test_weights_of_a_step_of_nadam_share_its_product(monkeypatch: pytest.MonkeyPatch) -> None:
    optimizer = optimizers.Nadam()
    product = optimizer._product_up_to(50)
    monkeypatch.delattr(optimizers.Nadam, "_share")

    assert product == optimizer._product_up_to(50)


def test_gradients_are_clipped_one_way() -> None:
    assert after(optimizers.SGD(1.0, clipvalue=0.0)) == [1.0, -2.0, 0.5, 3.0]
    with pytest.raises(ValueError, match="Only one of `clipnorm`"):
        optimizers.SGD(clipnorm=1.0, clipvalue=1.0)


def test_a_schedule_is_asked_at_each_step() -> None:
    halved = schedules.PiecewiseConstantDecay([1], [1.0, 0.0])

    assert after(optimizers.SGD(halved), steps=2) == after(optimizers.SGD(1.0), steps=2)
    assert after(optimizers.SGD(halved), steps=5) == after(optimizers.SGD(1.0), steps=2)


def test_a_rate_that_is_set_is_that_of_the_next_step() -> None:
    optimizer = optimizers.SGD(0.5)
    optimizer.learning_rate = 1.0

    assert after(optimizer) == after(optimizers.SGD(1.0))


def test_what_an_optimizer_keeps_is_not_trained() -> None:
    optimizer = optimizers.Adam(amsgrad=True)
    optimizer.build([Variable([1.0])])

    assert [False] * 5 == [variable.trainable for variable in optimizer.variables]


def test_weights_without_decay_are_chosen_by_themselves_or_by_a_part_of_their_names() -> None:
    weights = [Variable([1.0], name=name) for name in ("kernel", "bias", "scale")]
    optimizer = optimizers.SGD(0.5, weight_decay=0.5)
    optimizer.exclude_from_weight_decay(var_list=[weights[2]])
    optimizer.exclude_from_weight_decay(var_names=["bi"])
    optimizer.apply([tf.constant([0.0])] * 3, weights)

    assert [0.75, 1.0, 1.0] == [float(weight.numpy()[0]) for weight in weights]


def test_what_is_kept_can_be_stored_and_taken_back() -> None:
    first, second = optimizers.Adam(0.1), optimizers.Adam(0.2)
    store: dict[str, Any] = {}
    after(first)
    first.save_own_variables(store)
    second.build([Variable([[1.0, -2.0], [0.5, 3.0]])])
    second.load_own_variables(store)

    assert [one.numpy().tolist() for one in first.variables] == [one.numpy().tolist() for one in second.variables]


def test_what_a_checkpoint_has_of_a_weight_comes_when_it_is_built(tmp_path: Path) -> None:
    first, second = optimizers.Adam(0.1), optimizers.Adam(0.1)
    weight = Variable([1.0])
    first.apply([tf.constant([2.0])], [weight])
    path = tf.train.Checkpoint(optimizer=first).write(str(tmp_path / "saved"))
    tf.train.Checkpoint(optimizer=second).read(path)
    second.build([weight])

    assert first.variables[2].numpy().tolist() == second.variables[2].numpy().tolist() != [0.0]


def test_a_loss_may_be_a_function_or_a_tensor_with_its_tape() -> None:
    weight = tf.Variable(3.0)
    optimizer = optimizers.SGD(0.5)
    optimizer.minimize(lambda: weight * weight, lambda: [weight])
    assert float(weight) == 0.0

    weight.assign(3.0)
    with tf.GradientTape() as tape:
        loss = weight * weight
    optimizer.minimize(loss, [weight], tape)
    assert float(weight) == 0.0

    weight.assign(3.0)
    tape = tf.GradientTape(persistent=True)
    assert int(optimizer.minimize(lambda: weight * weight, [weight], tape)) == 3
    assert float(weight) == 0.0
    assert tape.watched_variables() == (weight,)


def test_a_constraint_holds_after_each_step() -> None:
    assert min(after(optimizers.SGD(0.1), constraint=NonNeg())) >= 0.0 > min(after(optimizers.SGD(0.1)))


@pytest.mark.parametrize(
    ("pairs", "text"),
    [([], "No gradients provided"), ([(None, Variable([1.0]))], "No gradients provided")],
)
def test_a_step_needs_a_gradient(pairs: Any, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        optimizers.SGD().apply_gradients(pairs)


def test_a_weight_that_it_was_not_built_for_is_refused() -> None:
    optimizer = optimizers.SGD()
    optimizer.build([Variable([1.0])])

    with pytest.raises(ValueError, match="Unknown variable"):
        optimizer.apply_gradients([(tf.constant([1.0]), Variable([1.0]))])


def test_unknown_arguments_and_names_are_refused() -> None:
    with pytest.raises(ValueError, match=r"Argument\(s\) not recognized: {'speed': 1}"):
        optimizers.SGD(speed=1)
    with pytest.raises(ValueError, match="Could not interpret optimizer identifier: nope"):
        optimizers.get("nope")


def test_rows_of_a_gradient_change_rows_of_the_weight() -> None:
    weight = tf.Variable([[1.0], [2.0], [3.0]])
    rows = tf.IndexedSlices(tf.constant([[1.0], [1.0]]), tf.constant([0, 0]), tf.constant([3, 1]))
    optimizers.SGD(0.5).apply_gradients([(rows, weight)])

    assert weight.numpy().ravel().tolist() == [0.0, 2.0, 3.0]


# Half precision


def test_a_scale_doubles_after_good_steps_in_a_row_and_is_never_below_1() -> None:
    optimizer = optimizers.LossScaleOptimizer(optimizers.SGD(0.1), initial_scale=8.0, dynamic_growth_steps=3)
    weight, scales, gradients = Variable([1.0]), [], [*[1.0] * 7, np.inf, *[1.0] * 3, *[np.inf] * 6]
    for number in gradients:
        optimizer.apply_gradients([(tf.constant([number]), weight)])
        scales.append(float(optimizer.dynamic_scale))

    assert scales == [8, 8, 16, 16, 16, 32, 32, 16, 16, 16, 32, 16, 8, 4, 2, 1, 1]
    assert not optimizer.dynamic_scale.trainable
    assert not optimizer.step_counter.trainable


def test_a_scale_takes_the_config_of_an_optimizer() -> None:
    optimizer = optimizers.LossScaleOptimizer(optimizers.serialize(optimizers.SGD(0.25)))

    assert float(optimizer.inner_optimizer.learning_rate) == 0.25


def test_a_scale_begins_and_grows_as_in_keras() -> None:
    config = optimizers.LossScaleOptimizer(optimizers.SGD(0.1)).get_config()

    assert (2.0**15, 2000) == (config["initial_scale"], config["dynamic_growth_steps"])
    with pytest.raises(TypeError, match="`inner_optimizer` must be an optimizer"):
        optimizers.LossScaleOptimizer("banana")


def test_an_overflow_makes_no_step_and_halves_the_scale() -> None:
    weight = Variable([1.0])
    optimizer = optimizers.LossScaleOptimizer(optimizers.SGD(1.0), initial_scale=8.0)
    optimizer.apply_gradients([(tf.constant([float("inf")]), weight)])

    assert (weight.numpy().tolist(), float(optimizer.dynamic_scale)) == ([1.0], 4.0)
    optimizer.apply_gradients([(optimizer.scale_loss(tf.constant([0.25])), weight)])
    assert weight.numpy().tolist() == [0.75]


# On several devices


@pytest.mark.parametrize("make", [lambda: optimizers.SGD(0.1, momentum=0.9), lambda: optimizers.Adam(0.1)])
@pytest.mark.parametrize("inside", [True, False])
def test_replicas_add_their_gradients_up_and_stay_equal(make: Any, inside: bool) -> None:
    alone: Any = tf.Variable([1.0, 2.0])
    single = make()
    for number in range(3):
        single.apply_gradients([(tf.constant([1.0 + number, 3.0]), alone)])

    with machine(2):
        strategy = tf.distribute.MirroredStrategy()
        with strategy.scope():
            weight: Any = tf.Variable([1.0, 2.0])
            optimizer = make()
        for number in range(3):
            grads = strategy.experimental_distribute_values_from_function(
                lambda context, number=number: tf.constant(
                    [float(number), 2.0] if context.replica_id_in_sync_group else [1.0, 1.0]
                )
            )
            if inside:
                strategy.run(lambda grad: optimizer.apply_gradients([(grad, weight)]), args=(grads,))
            else:
                with strategy.scope():
                    optimizer.apply_gradients([(grads, weight)])

        assert [one.numpy().tolist() for one in weight.values] == [alone.numpy().tolist()] * 2
        assert int(optimizer.iterations) == 3
        assert {one.device[-5:] for one in optimizer.variables[-1].handle.values} == {"GPU:0", "GPU:1"}


@pytest.mark.parametrize("is_built", [False, True])
def test_each_copy_is_changed_where_it_is_however_the_optimizer_was_built(is_built: bool) -> None:
    with machine(2):
        strategy = tf.distribute.MirroredStrategy()
        with strategy.scope():
            weight: Any = tf.Variable([1.0, 2.0])
            optimizer = optimizers.SGD(0.1, momentum=0.9)
            if is_built:
                optimizer.build([weight])
        with strategy.scope(), tf.runtime.recording() as record:
            optimizer.apply([tf.constant([1.0, 1.0])], [weight])

        assert ["GPU:0", "GPU:1"] == [one.device[-5:] for one in optimizer.variables[-1].handle.values]
        products = {device for op, device in record.ops if op == "Mul"}
        assert {"GPU:0", "GPU:1"} == products == {device for op, device in record.ops if op == "AssignAddVariableOp"}


def test_an_optimizer_of_no_strategy_does_not_change_the_copies_of_one() -> None:
    with machine(2):
        strategy = tf.distribute.MirroredStrategy()
        with strategy.scope():
            weight: Any = tf.Variable([1.0, 2.0])
        optimizer = optimizers.SGD(0.1, momentum=0.9)

        with strategy.scope(), pytest.raises(RuntimeError, match="Mixing different"):
            optimizer.apply([tf.constant([1.0, 1.0])], [weight])
        with pytest.raises(RuntimeError, match="different numbers of copies"):
            optimizer.apply([tf.constant([1.0, 1.0])], [weight])


def test_a_loss_without_its_tape_is_named() -> None:
    with pytest.raises(
        ValueError, match=r"`tape` is required when a `Tensor` loss is passed\. Received: loss=<tf\.Tensor"
    ):
        optimizers.SGD().minimize(tf.constant(1.0), [tf.Variable(1.0)])


def test_what_is_kept_begins_with_zero_whatever_the_weight_is() -> None:
    optimizer = optimizers.Adam()
    optimizer.build([tf.Variable([float("inf"), float("nan")])])

    assert [one.numpy().tolist() for one in optimizer.variables[2:]] == [[0.0, 0.0]] * 2


def test_a_step_of_nadam_costs_the_same_however_many_there_were(monkeypatch: pytest.MonkeyPatch) -> None:
    optimizer = optimizers.Nadam(0.1)
    weight = tf.Variable([1.0])
    calls = 0
    share = optimizer._share

    def counting(number: int) -> float:
        nonlocal calls
        calls += 1
        return share(number)

    monkeypatch.setattr(optimizer, "_share", counting)
    counts: list[int] = []
    for _ in range(40):
        calls = 0
        optimizer.apply_gradients([(tf.constant([1.0]), weight)])
        counts.append(calls)

    assert set(counts) == {3}
    optimizer.iterations.assign(3)  # as restored from a checkpoint
    assert optimizer._product_up_to(4) == pytest.approx(np.prod([share(number) for number in range(1, 5)]))


def test_a_decay_of_keras_2_is_ignored_with_a_warning() -> None:
    with pytest.warns(UserWarning, match="`decay` is no longer supported and will be ignored") as caught:
        assert float(optimizers.SGD(0.1, decay=1e-6, momentum=0.9).learning_rate) == pytest.approx(0.1)
    assert [__file__] == [warning.filename for warning in caught]


@pytest.mark.parametrize(
    ("name", "arguments", "defaults"),
    [
        ("ExponentialDecay", (0.1, 10, 0.9), {"staircase": False}),
        ("InverseTimeDecay", (0.1, 10, 0.9), {"staircase": False}),
        ("PolynomialDecay", (0.1, 10), {"end_learning_rate": 0.0001, "power": 1.0, "cycle": False}),
        ("CosineDecay", (0.1, 10), {"alpha": 0.0, "warmup_target": None, "warmup_steps": 0}),
    ],
)
def test_schedules_have_the_defaults_of_keras(name: str, arguments: tuple[float, ...], defaults: Any) -> None:
    schedule = getattr(schedules, name)

    assert defaults.items() <= schedule(*arguments).get_config().items()


@pytest.mark.parametrize(
    ("name", "rest"),
    [
        ("ExponentialDecay", (0.9,)),
        ("InverseTimeDecay", (0.9,)),
        ("PolynomialDecay", ()),
        ("CosineDecay", ()),
    ],
)
def test_a_schedule_needs_a_step(name: str, rest: tuple[float, ...]) -> None:
    schedule = getattr(schedules, name)

    assert schedule(0.1, 1, *rest)
    for steps in (0, -1):
        with pytest.raises(ValueError, match="decay_steps"):
            schedule(0.1, steps, *rest)
