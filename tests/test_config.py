"""Does `tf.config` take what TensorFlow takes, refuse what it refuses, and only as long as it does?"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from operator import attrgetter
from typing import Any

import pytest

import nbtf as tf
from nbtf._runtime.context import Context, use_context
from tests.machines import LOCAL, MIB, SCRATCH, machine

anything: Any = tf.config
"""`tf.config`, for calls that no type checker lets through."""


def cpu() -> Any:
    return tf.config.list_physical_devices("CPU")[0]


def gpus() -> list[Any]:
    return tf.config.list_physical_devices("GPU")


def wish(*limits: float | None) -> list[Any]:
    return [tf.config.LogicalDeviceConfiguration(memory_limit=limit) for limit in limits]


# Physical, visible and logical devices


def test_devices_are_listed_cpu_first() -> None:
    with machine(2):
        physical, logical = tf.config.list_physical_devices(), tf.config.list_logical_devices()

    assert ["/physical_device:CPU:0", "/physical_device:GPU:0", "/physical_device:GPU:1"] == [d.name for d in physical]
    assert [("/device:CPU:0", "CPU"), ("/device:GPU:0", "GPU"), ("/device:GPU:1", "GPU")] == logical


@pytest.mark.parametrize("kind", ["gpu", "banana", "", 3, b"GPU"])
@pytest.mark.parametrize("listing", [tf.config.list_physical_devices, tf.config.list_logical_devices])
def test_unknown_types_give_an_empty_list(listing: Callable[[Any], Any], kind: Any) -> None:
    with machine(1):
        assert [] == listing(kind)


def test_lists_are_fresh() -> None:
    tf.config.list_physical_devices().clear()
    tf.config.get_visible_devices().clear()
    tf.config.list_logical_devices().clear()

    assert 1 == len(tf.config.list_physical_devices())
    assert 1 == len(tf.config.get_visible_devices())
    assert 1 == len(tf.config.list_logical_devices())


def test_visible_devices_may_be_one_or_a_list() -> None:
    with machine(3):
        tf.config.set_visible_devices(gpus()[1], "GPU")
        one = tf.config.get_visible_devices()
        tf.config.set_visible_devices(gpus()[:2], "GPU")
        two = tf.config.get_visible_devices("GPU")
        tf.config.set_visible_devices([cpu(), gpus()[2]])

        assert [cpu(), gpus()[1]] == one
        assert gpus()[:2] == two
        assert [cpu(), gpus()[2]] == tf.config.get_visible_devices()


def test_cpu_can_be_multiplied() -> None:
    tf.config.set_logical_device_configuration(cpu(), wish(None, None, None))

    assert 3 == len(tf.config.list_logical_devices("CPU"))
    with tf.device("CPU:2"):
        assert f"{LOCAL}CPU:2" == tf.constant(1.0).device


@pytest.mark.parametrize(
    ("setter", "message"),
    [
        (lambda: anything.set_visible_devices("GPU:0", "GPU"), "Unrecognized device: 'GPU:0'"),
        (lambda: anything.set_visible_devices(cpu(), "GPU"), f"Unrecognized device: {cpu()!r}"),
        (lambda: anything.set_visible_devices((cpu(),)), f"Unrecognized device: {(cpu(),)!r}"),
        (lambda: anything.set_visible_devices(None), "Unrecognized device: None"),
        (lambda: anything.set_logical_device_configuration("x", []), "Unrecognized device: 'x'"),
        (lambda: anything.get_logical_device_configuration("x"), "Unrecognized device: 'x'"),
        (
            lambda: anything.set_logical_device_configuration(gpus()[0], wish(64, None)),
            "Setting memory limit is required for GPU virtual devices",
        ),
        (lambda: anything.experimental.set_memory_growth("x", True), "Unrecognized device: 'x'"),
        (
            lambda: anything.experimental.set_memory_growth(cpu(), True),
            "Cannot set memory growth on non-GPU and non-Pluggable devices",
        ),
        (
            lambda: tf.config.experimental.get_device_details("x"),
            "device must be a tf.config.PhysicalDevice, but got: x",
        ),
        (
            lambda: tf.config.experimental.set_device_policy("loud"),
            "Invalid argument `device_policy`: 'loud'. Please refer to "
            "https://www.tensorflow.org/api_docs/python/tf/config/experimental/set_device_policy for valid "
            "`device_policy` arguments.",
        ),
    ],
)
@pytest.mark.parametrize("started", [False, True])
def test_nonsense_is_refused_before_and_after_first_use(setter: Callable[[], Any], message: str, started: bool) -> None:
    with machine(1):
        if started:
            tf.constant(1.0)
        with pytest.raises(ValueError) as caught:  # noqa: PT011  # the text is compared below
            setter()

    assert message == str(caught.value)


def test_growth_of_the_cpu_is_a_key_error() -> None:
    with pytest.raises(KeyError):
        tf.config.experimental.get_memory_growth(cpu())


def test_growth_of_a_gpu_is_none_until_it_is_set() -> None:
    with machine(2):
        tf.config.experimental.set_memory_growth(gpus()[0], True)

        assert [True, None] == [tf.config.experimental.get_memory_growth(gpu) for gpu in gpus()]


def test_configuration_of_a_device_is_none_until_it_is_split() -> None:
    with machine(1):
        tf.constant(1.0)

        assert [None, None] == [tf.config.get_logical_device_configuration(d) for d in (cpu(), gpus()[0])]


# After first use

CHANGES: dict[str, tuple[Callable[[], Any], str]] = {
    "visible": (
        lambda: tf.config.set_visible_devices([], "GPU"),
        "Visible devices cannot be modified after being initialized",
    ),
    "growth": (
        lambda: tf.config.experimental.set_memory_growth(gpus()[0], True),
        "Physical devices cannot be modified after being initialized",
    ),
    "limit": (
        lambda: tf.config.set_logical_device_configuration(gpus()[0], wish(1024)),
        "Virtual devices cannot be modified after being initialized",
    ),
    "cpus": (
        lambda: tf.config.set_logical_device_configuration(cpu(), wish(None, None)),
        "Virtual devices cannot be modified after being initialized",
    ),
    "alpha fraction": (
        lambda: tf.config.gpu.set_per_process_memory_fraction(0.4),
        "GPU options must be set at program startup",
    ),
    "alpha growth": (
        lambda: tf.config.gpu.set_per_process_memory_growth(True),
        "GPU options must be set at program startup",
    ),
    "intra-op threads": (
        lambda: tf.config.threading.set_intra_op_parallelism_threads(2),
        "Intra op parallelism cannot be modified after initialization.",
    ),
    "inter-op threads": (
        lambda: tf.config.threading.set_inter_op_parallelism_threads(2),
        "Inter op parallelism cannot be modified after initialization.",
    ),
    "simulated GPUs": (
        lambda: tf.runtime.simulate_gpus(5),
        "Simulated GPUs cannot be modified after being initialized. Call tf.runtime.restart() first, or simulate_gpus "
        "before the first op.",
    ),
}


def state() -> list[Any]:
    return [
        tf.config.get_visible_devices(),
        tf.config.list_logical_devices(),
        [tf.config.get_logical_device_configuration(device) for device in tf.config.list_physical_devices()],
        [tf.config.experimental.get_memory_growth(gpu) for gpu in gpus()],
        tf.config.gpu.get_per_process_memory_fraction(),
        tf.config.gpu.get_per_process_memory_growth(),
        tf.config.threading.get_intra_op_parallelism_threads(),
        tf.config.threading.get_inter_op_parallelism_threads(),
    ]


@pytest.mark.parametrize("change", CHANGES)
def test_change_after_first_use_is_refused_and_changes_nothing(change: str) -> None:
    setter, message = CHANGES[change]
    with machine(1):
        tf.constant(1.0)
        before = state()
        with pytest.raises(RuntimeError, match=f"^{re.escape(message)}$"):
            setter()

        assert before == state()


@pytest.mark.parametrize("change", CHANGES)
def test_the_same_change_works_before_first_use_and_after_a_restart(change: str) -> None:
    with machine(1):
        CHANGES[change][0]()
        tf.constant(1.0)
        tf.runtime.restart()
        CHANGES[change][0]()


@pytest.mark.parametrize(
    "setter",
    [
        lambda: tf.config.set_visible_devices(tf.config.get_visible_devices()),
        lambda: tf.config.set_visible_devices(gpus(), "GPU"),
        lambda: tf.config.set_logical_device_configuration(gpus()[0], wish(64, 64)),
        lambda: tf.config.experimental.set_memory_growth(gpus()[1], False),
        lambda: tf.config.threading.set_intra_op_parallelism_threads(3),
        lambda: tf.config.set_soft_device_placement(False),
        lambda: tf.config.experimental.set_device_policy("explicit"),
        lambda: tf.debugging.set_log_device_placement(False),
    ],
)
def test_saying_the_same_again_is_fine_after_first_use(setter: Callable[[], Any]) -> None:
    with machine(2):
        tf.config.set_logical_device_configuration(gpus()[0], wish(64, 64))
        tf.config.experimental.set_memory_growth(gpus()[1], False)
        tf.config.threading.set_intra_op_parallelism_threads(3)
        tf.constant(1.0)

        setter()


# Settings that can be changed at any time


@pytest.mark.parametrize(("given", "read"), [(True, True), (False, False), (1, True), (0, False), (None, True)])
def test_soft_placement_is_read_back(given: Any, read: bool) -> None:
    tf.config.set_soft_device_placement(given)

    assert read is tf.config.get_soft_device_placement()


@pytest.mark.parametrize("given", ["yes", 0.5, []])
def test_soft_placement_must_be_a_truth_value(given: Any) -> None:
    with pytest.raises(TypeError, match="cannot be interpreted as an integer"):
        tf.config.set_soft_device_placement(given)

    assert tf.config.get_soft_device_placement()


def test_soft_placement_can_be_switched_between_ops() -> None:
    x = tf.constant([1.0])
    with tf.device("GPU:0"):
        first = tf.negative(x).device
        tf.config.set_soft_device_placement(False)
        with pytest.raises(RuntimeError, match="Could not satisfy"):
            tf.negative(x)
        tf.config.set_soft_device_placement(True)

        assert first == tf.negative(x).device


@pytest.mark.parametrize("policy", ["silent", "silent_for_int32", "warn", "explicit"])
def test_device_policy_is_read_back(policy: str) -> None:
    tf.config.experimental.set_device_policy(policy)
    said = tf.config.experimental.get_device_policy()
    tf.config.experimental.set_device_policy(None)

    assert (policy, "silent") == (said, tf.config.experimental.get_device_policy())


def test_numbers_of_threads_are_only_taken_down() -> None:
    tf.config.threading.set_intra_op_parallelism_threads(2)
    tf.config.threading.set_inter_op_parallelism_threads(3)

    threading = tf.config.threading
    assert (2, 3) == (threading.get_intra_op_parallelism_threads(), threading.get_inter_op_parallelism_threads())


# Memory figures


@pytest.mark.parametrize(
    "name", ["GPU:0", "/GPU:0", "/gpu:0", "/device:GPU:0", "/device:GPU", f"{LOCAL}GPU:0", "/job:localhost/GPU:0"]
)
def test_memory_info_takes_any_spelling(name: str) -> None:
    with machine(1):
        assert {"current": SCRATCH, "peak": SCRATCH} == tf.config.experimental.get_memory_info(name)


def test_peak_stays_until_it_is_reset() -> None:
    with machine(1):
        x = tf.ones([MIB])
        del x
        high = tf.config.experimental.get_memory_info("GPU:0")
        tf.config.experimental.reset_memory_stats("GPU:0")

        assert 4 * MIB <= high["peak"] - high["current"]
        assert {"current": SCRATCH, "peak": SCRATCH} == tf.config.experimental.get_memory_info("GPU:0")
        assert SCRATCH == tf.config.experimental.get_memory_usage("GPU:0")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("GPU:7", "No matching devices found for 'GPU:7'"),
        ("/job:worker/GPU:0", "No matching devices found for '/job:worker/GPU:0'"),
        (
            "GPU",
            "Failed parsing device name: 'GPU'. Note a valid device string should at least contain a device type and a "
            'device index, like "GPU:0".',
        ),
        (
            "banana",
            "Failed parsing device name: 'banana'. Note a valid device string should at least contain a device type "
            'and a device index, like "GPU:0".',
        ),
        ("CPU:0", "Allocator stats not available for device 'CPU:0'"),
        *[
            (name, f"No matching devices found for '{name}'")
            for name in ["unknown_device:0", "gpu:0", "XLA_GPU:0", "/device:FOO:0", "/CPU:0/GPU:7", "/task:3", "GPU:07"]
        ],
        *[
            (name, f"Multiple devices match the provided string '{name}': '{LOCAL}CPU:0' and '{LOCAL}GPU:0'.")
            for name in ["", "/", "/task:0", "/job:localhost", "/job:localhost/job:localhost", "/replica:0"]
        ],
        *[
            (
                name,
                f"Failed parsing device name: '{name}'. Note a valid device string should at least contain a device "
                'type and a device index, like "GPU:0".',
            )
            for name in [
                "GPU:x",
                "GPU:-1",
                "GPU:*",
                " GPU:0",
                "GPU:0 ",
                "/gpu:0/",
                "//GPU:0",
                "device:GPU:0",
                "/job:/task:0",
            ]
        ],
    ],
)
def test_memory_info_refuses_other_names(name: str, message: str) -> None:
    with machine(1), pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        tf.config.experimental.get_memory_info(name)


def test_memory_of_the_cpu_cannot_be_reset() -> None:
    with pytest.raises(ValueError, match=r"^Cannot reset memory stats for device 'CPU:0'$"):
        tf.config.experimental.reset_memory_stats("CPU:0")


def test_memory_info_fixes_the_devices_even_when_it_fails() -> None:
    with pytest.raises(ValueError, match="No matching devices"):
        tf.config.experimental.get_memory_info("GPU:0")
    with pytest.raises(RuntimeError, match="cannot be modified after being initialized"):
        tf.config.set_logical_device_configuration(cpu(), wish(None, None))


def test_details_say_that_a_card_is_simulated() -> None:
    with machine(1, "K40c"):
        details = [tf.config.experimental.get_device_details(device) for device in tf.config.list_physical_devices()]

    assert [{}, {"device_name": "Tesla K40c (simulated)", "compute_capability": (3, 5)}] == details


def test_functions_that_run_eagerly_return_what_their_code_returns() -> None:
    function = tf.function(lambda x: x.numpy() + 1)

    assert not tf.config.functions_run_eagerly()
    with pytest.raises(AttributeError, match="'SymbolicTensor' object has no attribute 'numpy'"):
        function(tf.constant(1))
    tf.config.run_functions_eagerly(True)
    assert tf.config.functions_run_eagerly()
    assert not isinstance(function(tf.constant(1)), tf.Tensor)


def test_memory_info_takes_names_and_not_devices() -> None:
    (device,) = tf.config.list_logical_devices()

    with pytest.raises(TypeError, match=r'^Expected a device name such as "GPU:0", got LogicalDevice'):
        anything.experimental.get_memory_info(device)


@pytest.mark.parametrize(
    ("given", "kept"),
    [(True, "autoclustering"), ("autoclustering", "autoclustering"), (False, ""), (None, ""), ("xla", "")],
)
def test_compilation_is_only_kept(given: Any, kept: str) -> None:
    before = tf.config.optimizer.get_jit()
    tf.config.optimizer.set_jit(given)
    tf.config.optimizer.set_experimental_options({"layout_optimizer": False, "nonsense": True})

    # Source: TensorFlow 2.21.
    options = {"layout_optimizer": False, "disable_model_pruning": False, "disable_meta_optimizer": False}
    assert list(options.items()) == list(tf.config.optimizer.get_experimental_options().items())
    assert ["", kept] == [before, tf.config.optimizer.get_jit()]
    assert 2.0 == tf.add(1.0, 1.0).numpy()


def test_tensor_float_32_is_only_kept() -> None:
    before = tf.config.experimental.tensor_float_32_execution_enabled()
    tf.config.experimental.enable_tensor_float_32_execution(False)

    assert [True, False] == [before, tf.config.experimental.tensor_float_32_execution_enabled()]


CPU = tf.config.PhysicalDevice("/physical_device:CPU:0", "CPU")
GPU = tf.config.PhysicalDevice("/physical_device:GPU:0", "GPU")


@pytest.mark.parametrize(
    ("name", "arguments", "error"),
    [
        ("get_logical_device_configuration", ("x",), ValueError),
        ("set_logical_device_configuration", ("x", []), ValueError),
        ("set_logical_device_configuration", (CPU, wish(None)), RuntimeError),
        ("set_visible_devices", ("x",), ValueError),
        ("set_visible_devices", ([], "GPU"), RuntimeError),
        ("set_soft_device_placement", ("no",), TypeError),
        ("threading.set_intra_op_parallelism_threads", (2,), RuntimeError),
        ("threading.set_inter_op_parallelism_threads", (2,), RuntimeError),
        ("gpu.set_per_process_memory_fraction", (-1.0,), ValueError),
        ("gpu.set_per_process_memory_fraction", (0.5,), RuntimeError),
        ("gpu.set_per_process_memory_growth", (), RuntimeError),
        ("experimental.get_memory_growth", (CPU,), KeyError),
        ("experimental.get_memory_growth", ("x",), ValueError),
        ("experimental.set_memory_growth", (CPU, True), ValueError),
        ("experimental.set_memory_growth", (GPU, True), RuntimeError),
        ("experimental.get_device_details", ("x",), ValueError),
        ("experimental.get_memory_info", ("CPU:0",), ValueError),
        ("experimental.get_memory_info", (3,), TypeError),
        ("experimental.get_memory_usage", ("GPU:7",), ValueError),
        ("experimental.get_memory_usage", (3,), TypeError),
        ("experimental.reset_memory_stats", ("CPU:0",), ValueError),
        ("experimental.reset_memory_stats", (3,), TypeError),
        ("experimental.set_device_policy", ("loud",), ValueError),
    ],
)
def test_docstring_says_what_is_raised(name: str, arguments: tuple[Any, ...], error: type[Exception]) -> None:
    function = attrgetter(name)(tf.config)

    with machine(1):
        tf.constant(1.0)
        with pytest.raises(error):
            function(*arguments)

    _, _, section = inspect.cleandoc(function.__doc__).partition("Raises:\n")
    assert f"  {error.__name__}: " in section


@pytest.mark.parametrize("name", ["list_physical_devices", "list_logical_devices", "get_visible_devices"])
def test_listing_devices_says_that_the_environment_may_be_wrong(name: str) -> None:
    function = attrgetter(name)(tf.config)

    with use_context(Context(environ={"NBTF_SIMULATED_GPUS": "banana"})), pytest.raises(ValueError, match="banana"):
        function()

    assert "`NBTF_SIMULATED_GPUS` is invalid" in function.__doc__
