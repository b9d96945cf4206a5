from __future__ import annotations

import pickle
from copy import copy
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtf._storage.messages.encoding import DecodeError
from nbtf.compat._v1._config.config_proto import ConfigProto, GPUOptions, GraphOptions, OptimizerOptions, RunOptions

# Constants of enums are made by a table, which no type checker sees.
OPTIMIZER: Any = OptimizerOptions
RUN: Any = RunOptions

VirtualDevices = GPUOptions.Experimental.VirtualDevices


def test_nothing_is_printed_of_defaults() -> None:
    assert "" == str(ConfigProto())


def test_fields_are_printed_in_the_order_of_their_numbers() -> None:
    config = ConfigProto(log_device_placement=True)
    config.gpu_options.allow_growth = True
    config.gpu_options.per_process_gpu_memory_fraction = 0.4

    expected = (
        "gpu_options {\n  per_process_gpu_memory_fraction: 0.4\n  allow_growth: true\n}\nlog_device_placement: true\n"
    )

    assert expected == str(config)


def test_messages_can_be_added_to_a_list() -> None:
    options = GPUOptions()
    options.experimental.virtual_devices.add().memory_limit_mb.extend([1024, 2048])

    expected = "experimental {\n  virtual_devices {\n    memory_limit_mb: 1024\n    memory_limit_mb: 2048\n  }\n}\n"

    assert expected == str(options)


@pytest.mark.parametrize("options", [GPUOptions(allow_growth=True), {"allow_growth": True}])
def test_a_message_inside_is_given_as_one_or_as_a_dictionary(options: Any) -> None:
    assert ConfigProto(gpu_options=options).gpu_options.allow_growth


def test_a_message_that_is_given_is_copied() -> None:
    options = GPUOptions()
    config = ConfigProto(gpu_options=options)

    options.allow_growth = True

    assert not config.gpu_options.allow_growth


def test_a_message_inside_cannot_be_assigned() -> None:
    with pytest.raises(AttributeError, match=r'^Assignment not allowed .*"gpu_options"'):
        ConfigProto().gpu_options = GPUOptions()


def test_an_unknown_field_is_refused() -> None:
    with pytest.raises(ValueError, match=r'^Protocol message ConfigProto has no "nope" field'):
        ConfigProto(nope=True)
    with pytest.raises(AttributeError, match=r'^Protocol message GPUOptions has no "nope" field'):
        GPUOptions().nope = 1


def test_a_value_of_another_type_is_refused() -> None:
    with pytest.raises(TypeError, match=r"^'str' object cannot be interpreted as an integer") as caught:
        ConfigProto(log_device_placement="yes")
    assert ["log_device_placement of ConfigProto must be a bool. Got 'yes'"] == caught.value.__notes__


def test_devices_are_counted_by_type() -> None:
    config = ConfigProto(device_count={"GPU": 0})
    config.device_count["CPU"] = 2

    assert {"GPU": 0, "CPU": 2} == config.device_count


def test_a_copy_is_equal_until_one_changes() -> None:
    first, second = ConfigProto(allow_soft_placement=True), ConfigProto()
    second.CopyFrom(first)
    assert first == second

    second.gpu_options.allow_growth = True

    assert first != second


def test_a_message_inside_is_there_when_it_says_something() -> None:
    config = ConfigProto()
    assert not config.HasField("gpu_options")

    config.gpu_options.allow_growth = True

    assert config.HasField("gpu_options")


@pytest.mark.parametrize(
    ("fraction", "text"),
    [
        (0.4, "0.4"),
        (1, "1"),
        (1 / 3, "0.33333333333333331"),
        (1e-7, "1e-07"),
        (1e15, "1e+15"),
        (-0.0, "-0"),
        (float("inf"), "inf"),
        (np.float32(0.3), "0.30000001192092896"),
    ],
)
def test_a_number_is_printed_with_as_few_digits_as_it_needs(fraction: Any, text: str) -> None:
    assert f"per_process_gpu_memory_fraction: {text}\n" == str(GPUOptions(per_process_gpu_memory_fraction=fraction))


def test_a_number_of_four_bytes_is_rounded_to_them() -> None:
    limits = VirtualDevices(memory_limit_mb=[0.1, 16777217, 1e10, 1e39])

    assert [0.10000000149011612, 16777216.0, 1e10, float("inf")] == list(limits.memory_limit_mb)
    assert "memory_limit_mb: 0.1\nmemory_limit_mb: 16777216\nmemory_limit_mb: 1e+10\nmemory_limit_mb: inf\n" == str(
        limits
    )


def test_a_text_is_printed_in_quotation_marks_with_what_cannot_be_read_escaped() -> None:
    options = GPUOptions(visible_device_list="a\"b\\c\n\t'é\x01\x7f")

    assert 'visible_device_list: "a\\"b\\\\c\\n\\t\\\'é\\001\\177"\n' == str(options)


def test_a_text_may_be_given_as_bytes() -> None:
    assert "0,1" == GPUOptions(visible_device_list=b"0,1").visible_device_list


@pytest.mark.parametrize(
    ("fields", "kind", "message"),
    [
        ({"intra_op_parallelism_threads": 1 << 31}, ValueError, "Value out of range: 2147483648"),
        ({"intra_op_parallelism_threads": 2.0}, TypeError, "'float' object cannot be interpreted as an integer"),
        (
            {"intra_op_parallelism_threads": True},
            TypeError,
            "Field tensorflow.ConfigProto.intra_op_parallelism_threads: Expected an int, got a boolean.",
        ),
        ({"device_count": {1: 1}}, TypeError, "bad argument type for built-in operation"),
        ({"device_filters": 3}, TypeError, "must assign iterable"),
        ({"gpu_options": {"nope": True}}, ValueError, 'Protocol message GPUOptions has no "nope" field.'),
    ],
)
def test_what_a_field_cannot_hold_is_refused(fields: dict[str, Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind) as caught:
        ConfigProto(**fields)
    assert message == str(caught.value)


def test_a_message_of_another_class_is_refused() -> None:
    with pytest.raises(TypeError, match=r"^Parameter to initialize message field must be dict or instance of same"):
        ConfigProto(gpu_options=ConfigProto())
    with pytest.raises(TypeError, match=r"^Parameter to CopyFrom\(\) must be instance of same class"):
        ConfigProto().CopyFrom(GPUOptions())  # pyright: ignore[reportArgumentType]


def test_a_misspelt_field_is_told_with_the_one_that_was_meant() -> None:
    config = ConfigProto()

    with pytest.raises(AttributeError) as caught:
        _ = config.gpu_option

    assert ("gpu_option", config) == (caught.value.name, caught.value.obj)  # which Python makes its suggestion of


def test_nothing_but_one_value_can_be_assigned() -> None:
    config = ConfigProto()
    for name in ("device_count", "device_filters"):
        with pytest.raises(AttributeError, match=rf'^Assignment not allowed to map, or repeated field "{name}"'):
            setattr(config, name, {})
    with pytest.raises(AttributeError, match=r"^Cannot delete field attribute"):
        del config.log_device_placement


def test_looking_at_a_message_inside_does_not_make_it_be_there() -> None:
    config = ConfigProto()

    assert not config.gpu_options.experimental.use_unified_memory
    assert not config.HasField("gpu_options")


def test_a_message_inside_that_was_set_to_defaults_is_there() -> None:
    config = ConfigProto()
    config.gpu_options.allow_growth = False

    assert "gpu_options {\n}\n" == str(config)
    assert ConfigProto() != config


def test_only_messages_may_be_missing() -> None:
    with pytest.raises(ValueError, match=r"^Field tensorflow.ConfigProto.device_count does not have presence.$"):
        ConfigProto().HasField("device_count")


def test_a_field_that_is_cleared_has_its_default_again() -> None:
    config = ConfigProto(gpu_options=GPUOptions(allow_growth=True), log_device_placement=True)
    options = config.gpu_options

    config.ClearField("gpu_options")
    options.visible_device_list = "1"  # nobody's any more

    assert "log_device_placement: true\n" == str(config)


def test_looking_at_a_type_makes_it_be_counted_and_asking_does_not() -> None:
    count = ConfigProto().device_count

    assert (1, False) == (count.get("CPU", 1), "CPU" in count)
    assert (0, True) == (count["CPU"], "CPU" in count)


def test_messages_merge_field_by_field() -> None:
    config = ConfigProto(device_count={"CPU": 1, "GPU": 2}, device_filters=["a"], gpu_options={"allow_growth": True})

    config.MergeFrom(
        ConfigProto(device_count={"CPU": 3}, device_filters=["b"], gpu_options={"visible_device_list": "1"})
    )

    assert {"CPU": 3, "GPU": 2} == config.device_count
    assert ["a", "b"] == config.device_filters
    assert 'allow_growth: true\nvisible_device_list: "1"\n' == str(config.gpu_options)


def test_fields_that_say_something_are_listed_by_number() -> None:
    config = ConfigProto(log_device_placement=True, device_count={"CPU": 1}, allow_soft_placement=False)

    assert [("device_count", 1), ("log_device_placement", 8)] == [(f.name, f.number) for f, _ in config.ListFields()]


def test_an_enum_is_a_number_that_prints_its_name() -> None:
    options = OptimizerOptions(opt_level="L0", global_jit_level=OPTIMIZER.ON_1)

    assert (-1, 1) == (options.opt_level, options.global_jit_level)
    assert "opt_level: L0\nglobal_jit_level: ON_1\n" == str(options)
    assert "ON_2" == OptimizerOptions.GlobalJitLevel.Name(2)
    with pytest.raises(ValueError, match=r'^unknown enum label "L9"'):
        OptimizerOptions(opt_level="L9")


def test_old_settings_of_graphs_and_runs_are_accepted() -> None:
    config = ConfigProto(graph_options=GraphOptions(optimizer_options=OptimizerOptions(opt_level=-1)))
    config.graph_options.rewrite_options.memory_optimization = 3
    config.cluster_def.job.add(name="w", tasks={0: "h:1"})

    assert "trace_level: FULL_TRACE\n" == str(RunOptions(trace_level=RUN.FULL_TRACE))
    assert config == ConfigProto.FromString(config.SerializeToString())


def test_bytes_are_those_of_protocol_buffers() -> None:
    config = ConfigProto(
        log_device_placement=True,
        device_count={"A": 1, "CPU": 300},
        gpu_options=GPUOptions(allow_growth=True, per_process_gpu_memory_fraction=0.4, visible_device_list="0,1"),
        intra_op_parallelism_threads=-1,
    )
    expected = (  # recorded: protocol buffers 7.36
        b"\n\x05\n\x01A\x10\x01\n\x08\n\x03CPU\x10\xac\x02\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x012\x10"
        b"\t\x9a\x99\x99\x99\x99\x99\xd9? \x01*\x030,1@\x01"
    )

    assert expected == config.SerializeToString()
    assert config == ConfigProto.FromString(expected)


@given(
    st.floats(allow_nan=False),
    st.text(),
    st.lists(st.floats(width=32, allow_nan=False)),
    st.integers(-(1 << 31), (1 << 31) - 1),
)
def test_a_message_comes_back_from_its_bytes(fraction: float, text: str, limits: list[float], number: int) -> None:
    config = ConfigProto(device_count={text: number}, device_filters=[text], operation_timeout_in_ms=number)
    config.gpu_options.per_process_gpu_memory_fraction = fraction
    config.gpu_options.experimental.virtual_devices.add(memory_limit_mb=limits, priority=[number])

    assert config == pickle.loads(pickle.dumps(config))


@pytest.mark.parametrize("data", [b"@", b"\x0a\x05a", b"\x47", b"\x2a\x01\xff"])
def test_bytes_that_are_no_message_are_refused(data: bytes) -> None:
    with pytest.raises(DecodeError, match=r"^Error parsing message with type 'tensorflow\.GPUOptions'"):
        GPUOptions().ParseFromString(data)


def test_a_copy_shares_nothing() -> None:
    config = ConfigProto(device_count={"CPU": 1})

    copy(config).device_count["CPU"] = 2

    assert 1 == config.device_count["CPU"]


def test_messages_are_not_keys() -> None:
    with pytest.raises(TypeError, match="unhashable"):
        hash(ConfigProto())
