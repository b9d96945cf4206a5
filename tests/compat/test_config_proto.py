from __future__ import annotations

from typing import Any

import pytest

from nbtf.compat.v1._config.config_proto import ConfigProto, GPUOptions


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
    with pytest.raises(TypeError, match="log_device_placement is bool, not str"):
        ConfigProto(log_device_placement="yes")


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
