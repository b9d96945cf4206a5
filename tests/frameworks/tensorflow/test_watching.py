"""Is what TensorFlow does recorded with device, reason, copies, line, phase and layer, and is nothing changed by it?"""

from __future__ import annotations

import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from typing import Any

import pytest

pytest.importorskip("tensorflow", reason="needs TensorFlow; one step of .ci/run has it")

import numpy as np

from nbtf import runtime
from nbtf._frameworks.tensorflow import internals
from nbtf._frameworks.tensorflow.notes import Notes
from tests.frameworks.tensorflow.programs import keras, tf

pywrap_tfe: Any = import_module("tensorflow.python.pywrap_tfe")
context: Any = import_module("tensorflow.python.eager.context")
op_callbacks: Any = import_module("tensorflow.python.framework.op_callbacks")
pytestmark = pytest.mark.filterwarnings("ignore")


def placed(record: runtime.Recording) -> list[runtime.OpPlaced]:
    return [event for event in record.events if isinstance(event, runtime.OpPlaced)]


def last_of(record: runtime.Recording, op: str) -> runtime.OpPlaced:
    return [event for event in placed(record) if event.op == op][-1]


def test_reasons_are_data() -> None:
    a = tf.ones((2, 2))
    with tf.device("CPU:3"):
        v = tf.Variable(a)
    with runtime.recording() as record, runtime.watch("tensorflow"):
        tf.add(a, a)
        with tf.device("CPU:2"):
            tf.subtract(a, a)
        with tf.device("GPU:5"):
            tf.multiply(a, a)
        v.read_value()

    reasons = [last_of(record, op).reason for op in ("AddV2", "Sub", "Mul", "ReadVariableOp")]
    assert [
        ("no GPU", ""),
        ("explicit scope", ""),
        ("soft placement", "GPU:5"),
        ("follows variable", "CPU:3"),
    ] == reasons


def test_replicas_have_their_number() -> None:
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    a = tf.ones(2)
    with runtime.recording() as record, runtime.watch("tensorflow"):
        strategy.run(lambda: a * 2.0)

    products = [event for event in placed(record) if event.op == "Mul"]
    assert [("CPU:0", 0), ("CPU:1", 1)] == [(event.device[-5:], event.replica) for event in products]
    assert [("replica of a strategy", "0"), ("replica of a strategy", "1")] == [event.reason for event in products]


def test_input_is_copied_once_to_a_device() -> None:
    a = tf.ones((4, 4)) + 0.0
    with runtime.recording() as record, runtime.watch("tensorflow"), tf.device("CPU:2"):
        b = a * a
        tf.multiply(b, a)

    assert [("CPU:0", "CPU:2", 64)] == record.copies


def test_shapes_and_handles_are_no_copies() -> None:
    a, v = tf.ones((4, 4)), tf.Variable(1.0)
    with tf.device("CPU:2"):
        a = tf.identity(a)
    with runtime.recording() as record, runtime.watch("tensorflow"), tf.device("CPU:2"):
        tf.reshape(a, tf.constant([16]))
        v.value()

    assert [] == record.copies


def test_line_phase_and_layer() -> None:
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, name="middle")], name="model")
    optimizer, x = keras.optimizers.SGD(), tf.ones((2, 4))
    optimizer.build(model.trainable_variables)
    with runtime.recording() as record, runtime.watch("tensorflow"):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(model(x))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))

    product, line = last_of(record, "BiasAdd"), test_line_phase_and_layer.__code__.co_firstlineno
    assert ((__file__, line + 6), "forward", "model/middle") == (product.site, product.phase, product.layer)
    assert ((__file__, line + 7), "backward") == (
        last_of(record, "BiasAddGrad").site,
        last_of(record, "BiasAddGrad").phase,
    )
    assert "update" == last_of(record, "AssignSubVariableOp").phase


def test_call_of_a_function_is_followed_by_its_nodes() -> None:
    @tf.function
    def step(x: Any) -> Any:
        with tf.device("CPU:3"):
            y = tf.matmul(x, x)
        return y + x

    a = tf.ones((4, 4))
    with runtime.recording() as record, runtime.watch("tensorflow"):
        step(a)
        step(a)

    calls = [event for event in placed(record) if event.op.startswith("__inference_step")]
    products = [event for event in placed(record) if event.node == "MatMul"]
    assert (2, 2) == (len(calls), len(products))
    assert "CPU:3" == products[0].device[-5:]
    assert (__file__, step.python_function.__code__.co_firstlineno + 3) == products[0].site
    assert [("CPU:0", "CPU:3", 64), ("CPU:3", "CPU:0", 64)] * 2 == record.copies


def test_nodes_of_a_fit_have_layers() -> None:
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, name="last")], name="net")
    model.compile("sgd", "mse")
    with runtime.recording() as record, runtime.watch("tensorflow"):
        model.fit(np.ones((4, 4), "f"), np.ones((4, 3), "f"), verbose=0)

    parts = {(event.phase, event.layer) for event in placed(record) if event.node}
    assert {("forward", "net/last"), ("backward", "net/last"), ("update", "")} <= parts


def test_all_threads_are_recorded() -> None:
    with ThreadPoolExecutor(1) as pool:
        pool.submit(tf.ones, 2).result()
        with runtime.recording() as record, runtime.watch("tensorflow"):
            pool.submit(lambda: tf.ones(2) + tf.ones(2)).result()
            thread = threading.Thread(target=lambda: tf.ones(2) * tf.ones(2))
            thread.start()
            thread.join()

    assert {"AddV2", "Mul"} <= {op for op, _ in record.ops}
    assert [] == record.watch.unrecorded([])


def test_nothing_is_left_behind() -> None:
    names = ("TFE_Py_FastPathExecute", "TFE_Py_Execute", "TFE_Py_ExecuteCancelable")
    before = [getattr(pywrap_tfe, name) for name in names]
    with runtime.recording(), runtime.watch("tensorflow"), runtime.watch("tensorflow"):
        tf.ones(2)

    assert before == [getattr(pywrap_tfe, name) for name in names]
    assert [] == context.context().op_callbacks


def test_callbacks_of_the_program_stay() -> None:
    seen: list[str] = []
    op_callbacks.add_op_callback(lambda op, *_, **__: seen.append(op))
    try:
        with runtime.recording() as record, runtime.watch("tensorflow"):
            tf.sqrt([4.0])
            op_callbacks.clear_op_callbacks()
            tf.exp([0.0])
            tf.exp([0.0])
    finally:
        op_callbacks.clear_op_callbacks()

    assert [b"Sqrt"] == seen
    assert ["Sqrt", "Exp", "Exp"] == [op for op, _ in record.ops if op != "_EagerConst"]


def test_replacement_by_another_library_stays() -> None:
    calls: list[Any] = []
    with runtime.recording(), runtime.watch("tensorflow"):
        ours = pywrap_tfe.TFE_Py_FastPathExecute
        theirs = pywrap_tfe.TFE_Py_FastPathExecute = lambda *args: calls.append(args[1]) or ours(*args)
    try:
        tf.sqrt([4.0])
        with runtime.recording() as record, runtime.watch("tensorflow"):
            tf.exp([0.0])
        assert theirs is pywrap_tfe.TFE_Py_FastPathExecute
        assert ["Sqrt", "Exp"] == calls
        assert 1 == [op for op, _ in record.ops].count("Exp")
    finally:
        pywrap_tfe.TFE_Py_FastPathExecute = ours
        with runtime.recording():
            pass


def test_error_of_the_watch_breaks_no_op(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        raise ZeroDivisionError

    for name in ("take", "take_constant", "take_failure", "prepare"):
        monkeypatch.setattr(Notes, name, fail)
    with runtime.recording() as record, runtime.watch("tensorflow"):
        assert 3.0 == float(tf.constant(1.0) + 2.0)
        with pytest.raises(tf.errors.InvalidArgumentError):
            tf.matmul(tf.ones((2, 3)), tf.ones((2, 3)))

    with pytest.raises(runtime.ExpectationError, match=r"TensorFlow ran \d+ ops, not recorded"):
        record.expect(no_copies=True)


def test_interrupted_op_leaves_the_next_one_recorded() -> None:
    def interrupt(x: Any) -> Any:
        raise KeyboardInterrupt

    with runtime.recording() as record, runtime.watch("tensorflow"):
        with pytest.raises(KeyboardInterrupt):
            tf.map_fn(interrupt, tf.constant([1.0]))
        tf.sqrt([4.0])

    assert "Sqrt" in [op for op, _ in record.ops]
    assert [] == context.context().op_callbacks


def test_release_without_a_private_name_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(sys.modules["tensorflow.python.framework.constant_op"], "convert_to_eager_tensor")

    with pytest.raises(
        RuntimeError, match=f"convert_to_eager_tensor. nbtf can watch TensorFlow {internals.RELEASES}.$"
    ):
        internals.internals()


def test_times_inside_functions_are_unknown() -> None:
    a = tf.ones((4, 4))
    step = tf.function(lambda x: tf.matmul(x, x))
    with runtime.recording() as record, runtime.watch("tensorflow"):
        step(a)
        tf.add(a, a)

    timing = {(e.node is not None, e.timing) for e in record.events if isinstance(e, runtime.OpExecuted)}
    assert {(True, "unknown"), (False, "finished")} == timing


def test_observers_receive_events() -> None:
    events: list[Any] = []
    stop = runtime.observe(events.append)
    with runtime.watch("tensorflow"):
        tf.sqrt([4.0])
    stop()

    assert ["OpPlaced", "OpExecuted"] == [
        type(event).__name__ for event in events if getattr(event, "op", "") == "Sqrt"
    ]


def test_watch_before_the_first_op_starts_no_device() -> None:
    fresh = "import tensorflow as tf, nbtf\nfrom tensorflow.python.eager import context\n"
    code = f"{fresh}with nbtf.runtime.recording(), nbtf.runtime.watch('tensorflow'):\n    pass\n"
    code += "assert context.context()._context_handle is None"

    assert 0 == _exit_status(code)


def test_extension_does_not_import_tensorflow() -> None:
    code = "import sys, nbtf.notebook\nfrom IPython.core.interactiveshell import InteractiveShell\n"
    code += "shell = InteractiveShell.instance()\nshell.run_line_magic('load_ext', 'nbtf')\n"
    code += "assert 'tensorflow' not in sys.modules"

    assert 0 == _exit_status(code)


def _exit_status(code: str) -> int:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, check=False, timeout=300).returncode
