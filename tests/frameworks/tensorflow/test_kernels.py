"""Is TensorFlow's kernel registry read exactly, and are the reasons for placements drawn from it?"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest

from nbtf._frameworks.tensorflow.kernels import KernelRegistry
from nbtf._frameworks.tensorflow.reasons import Reasons
from nbtf._runtime.placement import in_words
from nbtf.runtime import Reason

tf: Any = pytest.importorskip("tensorflow")
kernel_def_pb2: Any = import_module("tensorflow.core.framework.kernel_def_pb2")
kernels: Any = import_module("tensorflow.python.framework.kernels")
op_def_registry: Any = import_module("tensorflow.python.framework.op_def_registry")

from tests.frameworks.tensorflow import function_programs  # noqa: E402  # it needs TensorFlow

CPU, GPU = "/job:localhost/replica:0/task:0/device:CPU:0", "/job:localhost/replica:0/task:0/device:GPU:"
FLOAT, INT32, STRING = {"T": 1}, {"T": 3}, {"T": 7}
REGISTRY = KernelRegistry(kernels.get_registered_kernels_for_op, op_def_registry.get)
HAS_GPU_KERNELS = REGISTRY.runs_on("MatMul", "GPU")
with_gpu_kernels = pytest.mark.skipif(
    not HAS_GPU_KERNELS, reason="needs the wheel `tensorflow`, which registers kernels of GPUs"
)


@pytest.fixture(scope="module", autouse=True)
def four_cpus() -> None:
    function_programs.begin_with_four_cpus()


def kernel(device: str, host: tuple[str, ...] = (), label: str = "", priority: int = 0, **dtypes: Any) -> Any:
    """A kernel for a type of devices; each keyword is an attribute with its allowed dtypes."""
    result = kernel_def_pb2.KernelDef(device_type=device, host_memory_arg=host, label=label, priority=priority)
    for name, allowed in dtypes.items():
        constraint = result.constraint.add(name=name)
        constraint.allowed_values.list.type.extend(each.as_datatype_enum for each in allowed)
    return result


FLOATS = [tf.float32, tf.float64]
KERNELS = {
    "MatMul": [kernel("CPU", T=[*FLOATS, tf.int32]), kernel("GPU", T=FLOATS)],
    "AddV2": [kernel("CPU"), kernel("GPU", T=FLOATS), kernel("GPU", ("x", "y", "z"), T=[tf.int32])],
    "Reshape": [
        kernel("CPU", ("shape",)),
        kernel("DEFAULT", ("shape",), T=FLOATS),
        kernel("DEFAULT", ("tensor", "shape", "output"), T=[tf.int32]),
    ],
    "ConcatV2": [kernel("CPU", ("axis",)), kernel("GPU", ("axis",), T=FLOATS)],
    "Shape": [kernel("CPU", ("output",)), kernel("DEFAULT", ("output",), out_type=[tf.int32, tf.int64])],
    "StringJoin": [kernel("CPU")],
    "Cast": [kernel("CPU"), kernel("GPU", SrcT=FLOATS, DstT=FLOATS)],
    "IdentityN": [kernel("CPU"), kernel("GPU", T=FLOATS)],
    "Sqrt": [kernel("CPU", T=FLOATS), kernel("GPU", label="special", T=FLOATS)],
    "Sum": [kernel("GPU", T=FLOATS), kernel("GPU", ("input",), priority=1, T=FLOATS)],
    "ReadVariableOp": [kernel("CPU"), kernel("DEFAULT", ("resource",))],
    "IteratorGetNext": [kernel("CPU"), kernel("GPU", priority=1)],
}
FAKE = KernelRegistry(lambda op_type: kernel_def_pb2.KernelList(kernel=KERNELS.get(op_type, [])), op_def_registry.get)


def reasons(*devices: str, registry: KernelRegistry = FAKE) -> Reasons:
    return Reasons(registry, devices or [CPU, f"{GPU}0", f"{GPU}1"], lambda number: tf.as_dtype(number).name)


# Kernels


def test_kernel_needs_each_constrained_attribute() -> None:
    assert FAKE.device_types("MatMul", FLOAT) == {"CPU", "GPU"}
    assert FAKE.device_types("MatMul", INT32) == {"CPU"}
    assert FAKE.device_types("MatMul", {"T": tf.string}) == set()
    assert FAKE.device_types("Cast", {"SrcT": 1, "DstT": 2}) == {"CPU", "GPU"}
    assert FAKE.device_types("Cast", {"SrcT": 1, "DstT": 3}) == {"CPU"}


def test_each_dtype_of_a_list_must_be_allowed() -> None:
    assert FAKE.device_types("IdentityN", {"T": [1, 2]}) == {"CPU", "GPU"}
    assert FAKE.device_types("IdentityN", {"T": (1, 3)}) == {"CPU"}


def test_default_kernel_serves_each_type_of_devices() -> None:
    assert FAKE.device_types("Reshape", FLOAT) == {"CPU", "GPU"}


def test_default_value_of_an_attribute_decides_if_it_is_absent() -> None:
    assert FAKE.device_types("Shape", FLOAT) == {"CPU", "GPU"}


def test_kernel_with_a_label_serves_only_nodes_with_it() -> None:
    assert FAKE.device_types("Sqrt", FLOAT) == {"CPU"}
    assert FAKE.device_types("Sqrt", {**FLOAT, "_kernel": b"special"}) == {"GPU"}


def test_attributes_may_have_any_form() -> None:
    proto = tf.compat.v1.AttrValue(type=3)
    assert {FAKE.device_types("MatMul", {"T": value}) for value in (3, tf.int32, proto)} == {frozenset({"CPU"})}


def test_unknown_op_has_no_kernel() -> None:
    assert FAKE.device_types("__inference_step_7", {}) == set()
    assert not FAKE.has_kernels("__inference_step_7")


# Host memory


def test_host_arguments_are_counted_over_lists() -> None:
    assert FAKE.host_inputs("ConcatV2", "GPU", {"N": 3, "T": 1, "Tidx": 3}) == {3}


def test_host_arguments_depend_on_the_dtype() -> None:
    assert FAKE.host_inputs("Reshape", "GPU", FLOAT) == {1}
    assert FAKE.host_inputs("Reshape", "GPU", INT32) == {0, 1}
    assert FAKE.host_outputs("Reshape", "GPU", INT32) == {0}
    assert FAKE.host_outputs("Reshape", "GPU", FLOAT) == set()


def test_kernel_with_the_highest_priority_counts() -> None:
    assert FAKE.host_inputs("Sum", "GPU", FLOAT) == {0}


def test_resources_and_texts_are_in_host_memory() -> None:
    assert FAKE.host_inputs("ReadVariableOp", "GPU", {"dtype": 1}) == {0}
    assert FAKE.host_inputs("IteratorGetNext", "GPU", {"output_types": [7, 1], "output_shapes": []}) == {0}
    assert FAKE.host_outputs("IteratorGetNext", "GPU", {"output_types": [7, 1], "output_shapes": []}) == {0}


# State


@pytest.mark.parametrize("op", ["RandomUniform", "VarHandleOp", "RandomShuffle", "AnonymousIterator", "Barrier"])
def test_kernel_that_may_keep_something(op: str) -> None:
    assert REGISTRY.keeps_state(op)


@pytest.mark.parametrize("op", ["MatMul", "ReadVariableOp", "AssignVariableOp", "IteratorGetNext", "While", "PrintV2"])
def test_kernel_that_keeps_nothing(op: str) -> None:
    assert not REGISTRY.keeps_state(op)


# Reasons


def because(op_type: str, attributes: Any, device: str, among: Reasons | None = None, **more: Any) -> str:
    return in_words(op_type, device, (among or reasons()).of(op_type, attributes, device, **more))


def test_op_on_the_first_gpu() -> None:
    assert because("MatMul", FLOAT, f"{GPU}0") == "GPU:0: lowest-numbered GPU"


def test_op_on_a_machine_without_gpus() -> None:
    assert because("MatMul", FLOAT, CPU, reasons(CPU)) == "CPU:0: no GPU"


def test_op_without_a_gpu_kernel() -> None:
    assert because("StringJoin", {"N": 2}, CPU) == "CPU:0: no GPU kernel for StringJoin"


def test_op_without_a_gpu_kernel_for_its_dtype() -> None:
    assert because("MatMul", INT32, CPU) == "CPU:0: no GPU kernel for MatMul with int32"
    assert because("Cast", {"SrcT": 1, "DstT": 3}, CPU) == "CPU:0: no GPU kernel for Cast with float32 and int32"


def test_op_on_a_requested_device() -> None:
    assert because("MatMul", FLOAT, f"{GPU}1", requested="/device:GPU:1") == "GPU:1: asked for by tf.device"
    assert because("MatMul", FLOAT, f"{GPU}1", requested=f"{GPU}1") == "GPU:1: asked for by tf.device"
    assert because("MatMul", FLOAT, CPU, requested="/device:CPU:0") == "CPU:0: asked for by tf.device"
    assert because("MatMul", FLOAT, f"{GPU}0", requested="/device:GPU:*") == "GPU:0: asked for by tf.device"


def test_op_on_another_device_than_requested() -> None:
    assert because("MatMul", FLOAT, f"{GPU}0", requested="/device:GPU:7") == "GPU:0: asked for GPU:7, soft placement"
    assert because("MatMul", INT32, CPU, requested="/device:GPU:1") == "CPU:0: no GPU kernel for MatMul with int32"


def test_request_without_a_type_of_devices_asks_for_none() -> None:
    assert because("MatMul", FLOAT, f"{GPU}0", requested="/job:localhost") == "GPU:0: lowest-numbered GPU"


def test_op_of_a_replica() -> None:
    words = because("MatMul", FLOAT, f"{GPU}1", requested=f"{GPU}1", replica=1)
    assert words == "GPU:1: replica 1 of a strategy"


def test_op_follows_its_resource_before_any_request() -> None:
    words = because("ReadVariableOp", {"dtype": 1}, f"{GPU}1", requested="/device:GPU:0", follows=f"{GPU}1")
    assert words == "GPU:1: follows variable GPU:1"
    assert because("IteratorGetNext", {}, CPU, follows=CPU) == "CPU:0: follows the resource on CPU:0"


def test_result_that_stays_in_host_memory() -> None:
    assert because("AddV2", INT32, CPU) == "CPU:0: int32 values are kept in host memory"
    assert because("Shape", {"T": 1, "out_type": 9}, CPU) == "CPU:0: the GPU kernel of Shape writes to host memory"


def test_node_that_must_be_with_another() -> None:
    assert because("MatMul", FLOAT, f"{GPU}1", colocated="dense") == "GPU:1: placed by TensorFlow, colocated with dense"


def test_device_that_only_tensorflow_can_explain() -> None:
    assert because("MatMul", FLOAT, f"{GPU}1") == "GPU:1: placed by TensorFlow"
    assert because("MatMul", FLOAT, CPU) == "CPU:0: placed by TensorFlow"


def test_path_lists_the_rules() -> None:
    reason = reasons().of("MatMul", INT32, CPU, requested="/device:GPU:1")
    assert [(rule.rule, rule.answer) for rule in reason.path] == [
        ("tf.device", "GPU:1"),
        ("machine", "yes"),
        ("kernel", "no"),
    ]
    assert reason == Reason("no kernel on GPU", "MatMul with int32")


# TensorFlow's registry

BINARY = ["AddV2", "Mul", "Sub", "Maximum", "RealDiv", "BitwiseAnd", "Less", "Equal", "FloorMod", "Pow"]
UNARY = ["Sqrt", "Neg", "Erf", "Invert", "Relu", "Sign", "Softmax", "MatrixInverse", "IsNan", "Real"]
DTYPES = [tf.float16, tf.float32, tf.float64, tf.int8, tf.int32, tf.int64, tf.uint16, tf.bool, tf.complex64, tf.string]


def runs(op: str, dtype: Any) -> bool:
    """Whether TensorFlow runs an op on a CPU with inputs of a dtype."""
    value = tf.zeros((2, 2), dtype) if dtype == tf.string else tf.cast([[2, 1], [1, 3]], dtype)
    try:
        getattr(tf.raw_ops, op)(**{each.name: value for each in op_def_registry.get(op).input_arg})
    except (tf.errors.NotFoundError, tf.errors.InvalidArgumentError):
        return False
    return True


@pytest.mark.parametrize("op", [*BINARY, *UNARY, "MatMul"])
def test_tensorflow_runs_what_has_a_kernel(op: str) -> None:
    allowed = {
        dtype for each in op_def_registry.get(op).attr if each.name == "T" for dtype in each.allowed_values.list.type
    }
    dtypes = [dtype for dtype in DTYPES if not allowed or dtype.as_datatype_enum in allowed]
    has_kernel = [dtype for dtype in dtypes if "CPU" in REGISTRY.device_types(op, {"T": dtype})]
    assert has_kernel == [dtype for dtype in dtypes if runs(op, dtype)]


def test_all_registered_kernels_can_be_read() -> None:
    ops = {each.op for each in kernels.get_all_registered_kernels().kernel}
    assert len(ops) > 1000
    assert all(REGISTRY.has_kernels(op) for op in ops)


@with_gpu_kernels
def test_gpu_kernels_of_the_wheel() -> None:
    real = reasons(registry=REGISTRY)
    assert because("MatMul", INT32, CPU, real) == "CPU:0: no GPU kernel for MatMul with int32"
    assert because("StringJoin", {"N": 2}, CPU, real) == "CPU:0: no GPU kernel for StringJoin"
    assert because("AddV2", INT32, CPU, real) == "CPU:0: int32 values are kept in host memory"
    assert REGISTRY.host_inputs("ConcatV2", "GPU", {"N": 3, "T": 1, "Tidx": 3}) == {3}
    assert REGISTRY.host_inputs("Reshape", "GPU", {"T": 1, "Tshape": 3}) == {1}
    assert REGISTRY.device_types("IteratorGetNext", {"output_types": [1], "output_shapes": []}) >= {"CPU", "GPU"}
