"""What a device string means, piece by piece."""

import copy
import pickle
import re
from pathlib import Path
from typing import Any

import pytest

from nbtf._devices.names import DeviceSpec, Fields, devices_in, full_name, parse, short_name, without_cuda

PACKAGE = Path(__file__).parents[2] / "nbtf"


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("/job:worker/replica:1/task:2/device:GPU:3", Fields("worker", 1, 2, "GPU", 3)),
        ("/device:GPU:1/task:3/job:ps", Fields("ps", None, 3, "GPU", 1)),
        ("/job:a/job:b/task:1/task:2", Fields("b", None, 2)),
        ("GPU:1", Fields(device_type="GPU", device_index=1)),
        ("/gPu:1", Fields(device_type="GPU", device_index=1)),
        ("gpu", Fields(device_type="GPU")),
        ("GPU:*", Fields(device_type="GPU")),
        ("/device:CPU:*", Fields(device_type="CPU")),
        ("tpu:2", Fields(device_type="TPU", device_index=2)),
        ("custom:0", Fields(device_type="CUSTOM", device_index=0)),
        ("epu", Fields(device_type="EPU")),
        ("/device:XPU:0", Fields(device_type="XPU", device_index=0)),
        ("/device::0", Fields(device_type="", device_index=0)),
        ("job:", Fields(job="")),
        ("", Fields()),
        (None, Fields()),
        ("/", Fields()),
        (":", Fields()),
        ("///job:a///GPU:0//", Fields("a", None, None, "GPU", 0)),
    ],
)
def test_what_a_text_says(text: str | None, fields: Fields) -> None:
    assert fields == parse(text)


@pytest.mark.parametrize(
    ("text", "device_type"), [("/device:gpu:0", "GPU"), ("/device:cpu:0", "CPU"), ("/device:Gpu:0", "Gpu")]
)
def test_the_long_form_changes_case_only_of_all_lower(text: str, device_type: str) -> None:
    assert device_type == parse(text).device_type


@pytest.mark.parametrize(("number", "value"), [("+1", 1), (" 1", 1), ("1_0", 10), ("007", 7), ("1\n", 1), ("-1", -1)])
def test_numbers_are_pythons(number: str, value: int) -> None:
    assert Fields(None, value, value, "GPU", value) == parse(f"/replica:{number}/task:{number}/GPU:{number}")


@pytest.mark.parametrize(
    ("text", "unknown"),
    [
        ("/device:GPU", "device"),
        ("/device:GPU:0:1", "device"),
        ("GPU:0:1", "GPU"),
        ("CPU::0", "CPU"),
        ("XPU:0", "XPU"),
        ("GPU0", "GPU0"),
        (" GPU:0", " GPU"),
        ("GPU 0", "GPU 0"),
        ("\uff27\uff30\uff35:0", "\uff27\uff30\uff35"),
        ("cuda:0", "cuda"),
        ("/cuda", "cuda"),
        ("CUDA:0", "CUDA"),
        ("/physical_device:CPU:0", "physical_device"),
        ("\\GPU:0", "\\GPU"),
        ("/JOB:a", "JOB"),
        ("/job", "job"),
        ("/job:a:b", "job"),
        ("/Device:GPU:0", "Device"),
    ],
)
def test_an_unknown_piece_is_named(text: str, unknown: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011  # the text is compared below
        parse(text)

    assert f"Unknown attribute '{unknown}' is encountered while parsing the device spec: '{text}'." == str(caught.value)


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("cuda:3", "GPU:3"),
        ("/cuda:3", "/GPU:3"),
        ("cuda", "GPU"),
        ("/task:1/cuda:*", "/task:1/GPU:*"),
        ("/job:cuda/CPU:0", "/job:cuda/CPU:0"),
        ("cudart:0", "cudart:0"),
    ],
)
def test_magics_may_call_a_gpu_as_cupy_and_pytorch_do(text: str, plain: str) -> None:
    assert plain == without_cuda(text)


@pytest.mark.parametrize("text", ["/CPU:0/GPU:1", "/job:a/device:GPU:0/device:GPU:0", "/device::0/GPU:0", "GPU/gpu:x"])
def test_one_device_at_most(text: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011  # the text is compared below
        parse(text)

    assert f"Multiple device types are not allowed while parsing the device spec: {text}." == str(caught.value)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("/GPU:x", "x"),
        ("/GPU:", ""),
        ("/device:GPU:", ""),
        ("/GPU:1.5", "1.5"),
        ("/GPU:0x1", "0x1"),
        ("/task:x", "x"),
        ("/replica:*", "*"),
        ("/task:*", "*"),
    ],
)
def test_a_bad_number_is_pythons_error(text: str, number: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011  # the text is compared below
        parse(text)

    assert f"invalid literal for int() with base 10: '{number}'" == str(caught.value)


@pytest.mark.parametrize(("text", "error"), [(3, AttributeError), (b"/GPU:0", TypeError)])
def test_what_is_no_text_is_refused(text: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        DeviceSpec.from_string(text)


def test_the_constructor_converts() -> None:
    spec = DeviceSpec(job=0, replica="1", task=2.9, device_type="gpu", device_index="4")

    assert ("0", 1, 2, "GPU", 4) == (spec.job, spec.replica, spec.task, spec.device_type, spec.device_index)


def test_the_constructor_wants_numbers() -> None:
    with pytest.raises(ValueError, match=r"^invalid literal for int\(\) with base 10: '\*'$"):
        DeviceSpec(device_type="GPU", device_index="*")


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        (DeviceSpec(), ""),
        (DeviceSpec("ps", 1, 2, "CPU", 0), "/job:ps/replica:1/task:2/device:CPU:0"),
        (DeviceSpec(device_type="GPU"), "/device:GPU:*"),
        (DeviceSpec(device_type="GPU", device_index=-1), "/device:GPU:-1"),
        (DeviceSpec(device_index=1), ""),
        (DeviceSpec(task=0), "/task:0"),
    ],
)
def test_printing(spec: DeviceSpec, text: str) -> None:
    assert text == spec.to_string()


def test_repr_and_str_show_every_field() -> None:
    spec = DeviceSpec.from_string("/job:w/gpu:1")

    assert "<DeviceSpec(job=w, replica=None, task=None, device_type=GPU, device_index=1)>" == repr(spec) == str(spec)


@pytest.mark.parametrize(
    ("outer", "inner", "merged"),
    [
        ("/job:ps/CPU:1", "GPU", "/job:ps/device:GPU:1"),
        ("/task:1/CPU:0", "/GPU:*", "/task:1/device:GPU:0"),
        ("/GPU:1", "/job:worker/task:3", "/job:worker/task:3/device:GPU:1"),
        ("/job:a/task:1/GPU:1", "", "/job:a/task:1/device:GPU:1"),
        ("/task:1", "/task:0", "/task:0"),
    ],
)
def test_merging_field_by_field(outer: str, inner: str, merged: str) -> None:
    spec = DeviceSpec.from_string(outer)

    assert merged == spec.make_merged_spec(DeviceSpec.from_string(inner)).to_string()
    assert DeviceSpec.from_string(outer) == spec


def test_replacing_and_emptying_fields() -> None:
    spec = DeviceSpec.from_string("/job:w/device:GPU:1")

    assert "/job:w/device:CPU:0" == spec.replace(device_type="cpu", device_index=0).to_string()
    assert "/job:w/device:GPU:*" == spec.replace(device_index=None).to_string()
    assert "/job:w" == spec.replace(device_type=None).to_string()
    assert "/job:w/device:GPU:1" == spec.to_string()


def test_replacing_an_unknown_field_is_a_type_error() -> None:
    with pytest.raises(TypeError, match=r"'device'"):
        DeviceSpec().replace(device="CPU")


def test_parsing_from_a_spec_gives_a_new_one() -> None:
    spec = DeviceSpec.from_string("/CPU:0")

    assert "/device:GPU:0" == spec.parse_from_string("/GPU:0").to_string()
    assert "/device:CPU:0" == spec.to_string()


@pytest.mark.parametrize("name", [*Fields._fields, "foo"])
def test_a_spec_cannot_be_changed(name: str) -> None:
    with pytest.raises(AttributeError):
        setattr(DeviceSpec.from_string("/CPU:0"), name, 3)


def test_specs_with_the_same_text_are_equal() -> None:
    assert DeviceSpec.from_string("/GPU:*") == DeviceSpec.from_string("GPU") != DeviceSpec.from_string("GPU:0")
    assert DeviceSpec(device_index=1) == DeviceSpec()


def test_a_spec_never_equals_a_text() -> None:
    assert DeviceSpec.from_string("/device:GPU:0") != "/device:GPU:0"


def test_a_subclass_never_equals_a_spec() -> None:
    class Other(DeviceSpec):
        pass

    assert Other("a") != DeviceSpec("a")
    assert DeviceSpec("a") != Other("a")
    assert Other is type(Other.from_string("GPU").make_merged_spec(DeviceSpec("a")))


def test_the_hash_is_the_texts() -> None:
    assert hash("/device:GPU:0") == hash(DeviceSpec.from_string("GPU:0"))


def test_specs_pickle_and_copy() -> None:
    spec = DeviceSpec("a", 1, 2, "GPU", 3)

    assert spec == pickle.loads(pickle.dumps(spec)) == copy.copy(spec)


def test_full_and_short_names() -> None:
    assert "/job:localhost/replica:0/task:0/device:GPU:1" == full_name("GPU", 1)
    assert "GPU:1" == short_name(full_name("GPU", 1)) == short_name("/device:GPU:1") == short_name("GPU:1")
    assert "CPU:0" == short_name("/physical_device:CPU:0")


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("/job:worker/replica:0/task:1/device:GPU:0", "/job:worker/task:1/GPU:0"),
        ("/job:localhost/replica:0/task:1/device:GPU:0", "/job:localhost/task:1/GPU:0"),
        ("/job:ps/replica:2/task:0/device:CPU:0", "/job:ps/replica:2/task:0/CPU:0"),
        ("/job:worker/GPU:1", "/job:worker/GPU:1"),
        ("/device:GPU:*", "GPU:*"),
    ],
)
def test_a_short_name_keeps_the_task_of_another_process(name: str, short: str) -> None:
    assert short == short_name(name)


@pytest.mark.parametrize("name", ["", "/job:localhost/replica:0", "/task:0", "GPU:one", "anything"])
def test_what_names_no_device_stays_as_it_is(name: str) -> None:
    assert name == short_name(name)


def test_devices_are_found_in_a_text() -> None:
    name = "/job:worker/replica:0/task:1/device:GPU:0"

    assert [name] == devices_in(f"OOM when allocating tensor on {name} by allocator GPU_0_bfc")


def test_nobody_else_cuts_names() -> None:
    """Cut by hand, the devices of two tasks have one name. Error texts quote names of other programs."""
    cut = re.compile(
        r"""r?(partition|split)\(["']/?device:|removeprefix\(["'](/physical_device|/job:)|re\.\w+\(r?["']/device"""
    )
    of_other_programs = {"_error_texts", "_traces"}
    files = [file for file in sorted(PACKAGE.rglob("*.py")) if file.name != "names.py"]
    files = [file for file in files if file.parent.name not in of_other_programs]

    assert [] == [str(file) for file in files if cut.search(file.read_text(encoding="utf-8"))]
