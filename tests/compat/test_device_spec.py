from __future__ import annotations

import pytest

import nbtf as tf


def test_fields_can_be_set() -> None:
    spec = tf.compat.v1.DeviceSpec.from_string("/CPU:0")

    spec.job, spec.device_type, spec.device_index = "ps", "gpu", 2

    assert "/job:ps/device:GPU:2" == spec.to_string()


def test_a_number_must_be_one() -> None:
    with pytest.raises(ValueError, match="invalid literal for int"):
        tf.compat.v1.DeviceSpec().device_index = "abc"


def test_other_names_are_refused() -> None:
    with pytest.raises(AttributeError, match="no attribute 'devise_type'"):
        tf.compat.v1.DeviceSpec().devise_type = "GPU"  # pyright: ignore[reportAttributeAccessIssue]  # the mistake


def test_it_is_a_spec_but_never_equal_to_a_new_one() -> None:
    old, new = tf.compat.v1.DeviceSpec.from_string("/CPU:0"), tf.DeviceSpec.from_string("/CPU:0")

    assert isinstance(old, tf.DeviceSpec)
    assert old != new
    assert hash(old) == hash(old.to_string())


def test_merging_changes_it() -> None:
    spec = tf.compat.v1.DeviceSpec.from_string("/job:w/CPU:1")

    spec.merge_from(tf.DeviceSpec(device_type="GPU"))

    assert "/job:w/device:GPU:1" == spec.to_string()


def test_parsing_changes_it_and_returns_it() -> None:
    spec = tf.compat.v1.DeviceSpec(job="w")

    assert spec is spec.parse_from_string("/GPU:0")
    assert "/device:GPU:0" == spec.to_string()
