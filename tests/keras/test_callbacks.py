"""Are callbacks told what happens, in the right order, and do they do what they promise?"""

from __future__ import annotations

import io
import math
import random
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nbtf.keras import callbacks, layers, models, optimizers
from nbtf.keras.training import progress
from nbtf.keras.training.progress import Progbar
from tests.clocks import set_clock

X = np.random.RandomState(0).rand(10, 3).astype(np.float32)
Y = np.random.RandomState(1).rand(10, 1).astype(np.float32)


def model(rate: float = 0.01) -> Any:
    random.seed(1)
    made: Any = models.Sequential([layers.Input((3,)), layers.Dense(1)])
    made.compile(optimizers.SGD(rate), "mse", metrics=["mae"])
    return made


class Heard(callbacks.Callback):
    def __init__(self) -> None:
        self.hooks: list[str] = []

    def __getattribute__(self, name: str) -> Any:
        if not name.startswith("on_"):
            return super().__getattribute__(name)
        return lambda *args, **kwargs: self.hooks.append(" ".join([name, *map(_told, args)]))


def _told(value: Any) -> str:
    return ",".join(value) if isinstance(value, dict) else str(value)


def test_hooks_come_in_the_order_of_keras() -> None:
    heard = Heard()
    model().fit(X, Y, batch_size=4, validation_split=0.2, shuffle=False, verbose=0, callbacks=[heard])

    assert heard.hooks == [
        "on_train_begin ",
        "on_epoch_begin 0 ",
        "on_train_batch_begin 0 ",
        "on_train_batch_end 0 loss,mae",
        "on_train_batch_begin 1 ",
        "on_train_batch_end 1 loss,mae",
        "on_test_begin ",
        "on_test_batch_begin 0 ",
        "on_test_batch_end 0 loss,mae",
        "on_test_end loss,mae",
        "on_epoch_end 0 loss,mae,val_loss,val_mae",
        "on_train_end loss,mae,val_loss,val_mae",
    ]


def test_predict_hands_its_outputs_over() -> None:
    heard = Heard()
    model().predict(X, batch_size=5, verbose=0, callbacks=[heard])

    assert heard.hooks[1:3] == ["on_predict_batch_begin 0 None", "on_predict_batch_end 0 outputs"]


def test_steps_per_execution_are_told_of_at_once() -> None:
    heard, made = Heard(), model()
    made.compile("sgd", "mse", steps_per_execution=2)
    made.fit(X, Y, batch_size=2, verbose=0, callbacks=[heard])

    assert [hook for hook in heard.hooks if "batch" in hook] == [
        "on_train_batch_begin 0 ",
        "on_train_batch_end 1 loss",
        "on_train_batch_begin 2 ",
        "on_train_batch_end 3 loss",
        "on_train_batch_begin 4 ",
        "on_train_batch_end 4 loss",
    ]


def test_results_are_not_computed_for_hooks_that_nobody_wrote(monkeypatch: pytest.MonkeyPatch) -> None:
    made = model()
    asked: list[int] = []
    original = made.get_metrics_result
    monkeypatch.setitem(made.__dict__, "get_metrics_result", lambda: asked.append(1) or original())
    made.fit(X, Y, batch_size=2, verbose=0, callbacks=[callbacks.Callback()])

    assert len(asked) == 1


def test_training_ends_where_a_callback_says_so() -> None:
    class Stops(callbacks.Callback):
        def on_batch_end(self, batch: int, logs: Any = None) -> None:
            self.model.stop_training = batch == 1

    made = model()
    history = made.fit(X, Y, batch_size=2, epochs=3, verbose=0, callbacks=[Stops()])

    assert (made.optimizer.iterations.numpy(), history.epoch) == (2, [0])


def test_what_is_no_callback_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^All items in the `callbacks` argument must be of type"):
        model().fit(X, Y, verbose=0, callbacks=[3])


def test_functions_can_be_called() -> None:
    seen: list[Any] = []
    told = callbacks.LambdaCallback(
        on_epoch_end=lambda epoch, logs: seen.append((epoch, sorted(logs))),
        on_train_batch_end=lambda batch, logs: seen.append(batch),
    )
    model().fit(X, Y, batch_size=5, verbose=0, callbacks=[told])

    assert seen == [0, 1, (0, ["loss", "mae"])]


# Stopping


def test_training_stops_when_nothing_gets_better(capsys: pytest.CaptureFixture[str]) -> None:
    made = model(rate=0.0)
    stop = callbacks.EarlyStopping("loss", patience=2, verbose=1, restore_best_weights=True)
    history = made.fit(X, Y, epochs=9, verbose=0, shuffle=False, callbacks=[stop])

    assert (history.epoch, stop.best_epoch) == ([0, 1, 2], 0)
    assert capsys.readouterr().out == (
        "Epoch 3: early stopping\nRestoring model weights from the end of the best epoch: 1.\n"
    )


def test_the_best_weights_come_back() -> None:
    made = model(rate=5.0)  # goes astray
    stop = callbacks.EarlyStopping("loss", patience=1, restore_best_weights=True)
    made.fit(X, Y, batch_size=10, epochs=4, verbose=0, callbacks=[stop])
    other = model(rate=5.0)
    other.fit(X, Y, batch_size=10, epochs=1, verbose=0)

    for one, two in zip(made.get_weights(), other.get_weights(), strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-5)


@pytest.mark.parametrize(
    ("name", "mode", "value", "better"),
    [("loss", "auto", 0.4, True), ("val_accuracy", "auto", 0.4, False), ("mae", "max", 0.6, True)],
)
def test_the_direction_follows_from_the_name_or_is_said(name: str, mode: str, value: float, better: bool) -> None:
    assert callbacks.EarlyStopping(name, mode=mode).is_better(value, 0.5) is better


def test_a_result_that_is_not_there_is_told_of() -> None:
    with pytest.warns(UserWarning, match=r"^Early stopping conditioned on metric `val_loss` which is not available"):
        model().fit(X, Y, verbose=0, callbacks=[callbacks.EarlyStopping()])
    with pytest.raises(ValueError, match=r"^EarlyStopping callback received monitor=foo, but Keras isn't able to"):
        model().fit(X, Y, verbose=0, callbacks=[callbacks.EarlyStopping("foo")])


def test_a_loss_that_is_no_number_ends_training(capsys: pytest.CaptureFixture[str]) -> None:
    history = model().fit(X, Y * math.nan, epochs=3, verbose=0, callbacks=[callbacks.TerminateOnNaN()])

    assert history.epoch == [0]
    assert capsys.readouterr().out == "Batch 0: Invalid loss, terminating training\n"


def test_metrics_forget_a_loss_that_was_no_number() -> None:
    made = model()
    made.evaluate(X, Y * math.nan, verbose=0)

    assert math.isfinite(made.evaluate(X, Y, verbose=0)[0])


# Learning rates


@pytest.mark.parametrize("schedule", [lambda epoch, rate: rate * 0.5, lambda epoch: 0.005 * 0.5**epoch])
def test_the_learning_rate_follows_a_schedule(schedule: Any, capsys: pytest.CaptureFixture[str]) -> None:
    scheduler = callbacks.LearningRateScheduler(schedule, verbose=1)
    history = model().fit(X, Y, epochs=2, verbose=0, callbacks=[scheduler])

    assert history.history["learning_rate"] == pytest.approx([0.005, 0.0025])
    assert "\nEpoch 1: LearningRateScheduler setting learning rate to 0.00" in capsys.readouterr().out


def test_a_schedule_must_give_a_number() -> None:
    with pytest.raises(ValueError, match=r"^The output of the `schedule` function should be a float. Got: a"):
        model().fit(X, Y, verbose=0, callbacks=[callbacks.LearningRateScheduler(lambda epoch: "a")])


def test_the_learning_rate_is_reduced_where_nothing_gets_better() -> None:
    reduce = callbacks.ReduceLROnPlateau("loss", factor=0.5, patience=1, min_delta=10.0)
    history = model().fit(X, Y, epochs=4, verbose=0, callbacks=[reduce])

    assert history.history["learning_rate"] == pytest.approx([0.01, 0.01, 0.005, 0.0025])


# Files


class Saved(models.Sequential):
    def save(self, filepath: Any, *args: Any, **kwargs: Any) -> None:
        self.__dict__.setdefault("saved", []).append(Path(filepath).name)

    def save_weights(self, filepath: Any, *args: Any, **kwargs: Any) -> None:
        self.save(filepath)


def saved_by(checkpoint: Any, epochs: int = 2) -> list[str]:
    random.seed(1)
    made: Any = Saved([layers.Input((3,)), layers.Dense(1)])
    made.compile("sgd", "mse")
    made.fit(X, Y, batch_size=5, epochs=epochs, verbose=0, callbacks=[checkpoint])
    return made.__dict__.get("saved", [])


def test_models_are_saved_under_names_with_numbers_and_results(tmp_path: Path) -> None:
    names = saved_by(callbacks.ModelCheckpoint(tmp_path / "in" / "m{epoch:02d}-{loss:06.1f}.keras"))

    assert [(name[:4], len(name)) for name in names] == [("m01-", 16), ("m02-", 16)]
    assert (tmp_path / "in").is_dir()


def test_weights_are_saved_after_a_number_of_batches(tmp_path: Path) -> None:
    checkpoint = callbacks.ModelCheckpoint(tmp_path / "{epoch}-{batch}.weights.h5", save_weights_only=True, save_freq=3)

    assert saved_by(checkpoint, epochs=3) == ["2-1.weights.h5", "3-2.weights.h5"]


def test_only_better_models_are_saved_if_wanted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "best.keras"
    options: Any = {"monitor": "loss", "save_best_only": True, "verbose": 1}

    assert saved_by(callbacks.ModelCheckpoint(path, initial_value_threshold=0.0, **options)) == []
    assert capsys.readouterr().out.startswith("\nEpoch 1: loss did not improve from 0.00000\n")
    assert len(saved_by(callbacks.ModelCheckpoint(path, **options))) == 2
    assert "\nEpoch 1: loss improved from None to " in capsys.readouterr().out


def test_a_name_that_asks_for_what_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(KeyError, match="Failed to format this callback filepath"):
        saved_by(callbacks.ModelCheckpoint(tmp_path / "{foo}.keras"))
    with pytest.raises(ValueError, match=r"^Unrecognized save_freq: foo"):
        callbacks.ModelCheckpoint("x.keras", save_freq="foo")


def test_results_are_written_as_a_table(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    for append in (False, True):
        model().fit(
            X, Y, epochs=2, validation_split=0.2, verbose=0, callbacks=[callbacks.CSVLogger(path, append=append)]
        )
    lines = path.read_text().splitlines()

    assert (lines[0], len(lines)) == ("epoch,loss,mae,val_loss,val_mae", 5)
    assert lines[1].startswith("0,0.")


# What is written


def shown(monkeypatch: pytest.MonkeyPatch, stream: Any, **options: Any) -> str:
    monkeypatch.setattr(sys, "stdout", stream)
    model().fit(X, Y, batch_size=5, **options)
    return stream.getvalue()


def test_a_script_writes_one_plain_line_for_each_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = shown(monkeypatch, io.StringIO(), epochs=2).splitlines()

    assert [lines[0], lines[2]] == ["Epoch 1/2", "Epoch 2/2"]
    assert lines[1].startswith("2/2 " + "━" * 20 + " 0s ")
    assert " - loss: 0." in lines[1]
    assert "\33" not in "".join(lines)


def test_a_single_pass_has_no_number(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown(monkeypatch, io.StringIO()).startswith("2/2 ━")


def test_a_plain_line_has_no_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown(monkeypatch, io.StringIO(), verbose=2).startswith("2/2 - 0s - ")


def test_a_terminal_gets_one_line_that_is_rewritten_in_colour(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    text = shown(monkeypatch, Terminal())

    assert text.startswith("\r\33[1m1/2\33[0m \33[32m" + "━" * 10)
    assert text.count("\n") == 1


def test_a_line_is_rewritten_at_most_twenty_times_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    now = [100.0]
    set_clock(monkeypatch, progress, time=lambda: now[0])
    monkeypatch.setattr(sys, "stdout", stream := Terminal())
    bar = Progbar(1000)
    for step in range(1, 101):
        now[0] += 0.01
        bar.update(step)

    assert stream.getvalue().count("\r") == 20


@pytest.mark.parametrize(("seconds", "text"), [(0.000012, "12us/step"), (0.003, "3ms/step"), (2.0, "2s/step")])
def test_the_time_of_a_step_has_a_unit_that_suits(monkeypatch: pytest.MonkeyPatch, seconds: float, text: str) -> None:
    now = [100.0]
    set_clock(monkeypatch, progress, time=lambda: now[0])
    monkeypatch.setattr(sys, "stdout", stream := io.StringIO())
    bar = Progbar(3, verbose=2)
    for step in (1, 2, 3):
        bar.update(step, [("loss", 0.00005)])
        now[0] += seconds

    assert f" {text} - loss: 5.0000e-05\n" in stream.getvalue()


def test_a_task_of_unknown_length_gets_its_length_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", stream := io.StringIO())
    model().fit(((X, Y) for _ in range(3)), verbose=2)

    assert stream.getvalue().startswith("3/3 - 0s - ")


def test_an_unknown_length_is_said_as_long_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", stream := io.StringIO())
    Progbar(None).update(3, finalize=True)

    assert stream.getvalue().startswith("      3/Unknown 0s ")
