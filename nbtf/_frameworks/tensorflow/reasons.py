"""Why has TensorFlow placed an op on its device? Answered from its kernel registry, in nbtf's own words."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from nbtf._devices.names import Fields, parse, short_name
from nbtf._frameworks.tensorflow.kernels import INT32, STRING, Attributes, KernelRegistry
from nbtf._record.events import Reason, Rule
from nbtf._runtime.placement import COLOCATED, FOLLOWS_RESOURCE, HOST_RESULT, OPTIMIZER, PLACER

BY_OPTIMIZER = Reason(OPTIMIZER)
"""The reason for a node that is not in the program: TensorFlow's optimizer has made it."""
_OF_VARIABLES = ("VariableOp", "Resource")
"""Parts of the types of ops whose resource is a variable; the other resources are iterators, tables and the like."""


class Reasons:
    """The reasons for placements among a context's devices."""

    def __init__(self, registry: KernelRegistry, devices: Sequence[str], dtype_name: Callable[[int], str]) -> None:
        """Stores what reasons depend on.

        Args:
          registry: TensorFlow's kernels.
          devices: full names of the context's devices, in TensorFlow's order.
          dtype_name: returns the name of a dtype by its number, such as `float32`.
        """
        self.registry = registry
        self._dtype_name = dtype_name
        self._devices = [parse(device) for device in devices]
        gpus = [device for device in devices if parse(device).device_type == "GPU"]
        self._has_gpus = bool(gpus)
        self._first = short_name((gpus or [*devices, "CPU:0"])[0])

    def of(
        self,
        op_type: str,
        attributes: Attributes,
        device: str,
        *,
        requested: str = "",
        replica: int | None = None,
        follows: str = "",
        colocated: str = "",
    ) -> Reason:
        """Returns why an op was placed on its device.

        Args:
          op_type: type of the op.
          attributes: its attributes, by name.
          device: name of its device: where its first result is stored, if it has results.
          requested: requested device, such as that of the open `tf.device`; empty for none.
          replica: number of the strategy's replica that runs the op.
          follows: device of the resource that it uses, such as a variable or an iterator; empty without a resource.
          colocated: name of the node that it must be placed with; empty for none.
        """
        name, fields = short_name(device), parse(device)
        if follows and short_name(follows) == name:
            return _follows_resource(op_type, name)
        if requested and parse(requested).device_type is not None:
            return self._as_requested(op_type, attributes, fields, requested, replica)
        if self._has_gpus and fields.device_type == "CPU":
            return self._beside_gpus(op_type, attributes)
        if name == self._first:
            return self._first_reason()
        return Reason(COLOCATED, colocated) if colocated else Reason(PLACER)

    def _first_reason(self) -> Reason:
        if self._has_gpus:
            return Reason("lowest-numbered GPU").after(self._lowest())
        absent = Rule("lowest-numbered GPU", "Is there one?", "no")
        return Reason("no GPU").after(absent, Rule("CPU", "Which is it?", self._first))

    def _lowest(self) -> Rule:
        return Rule("lowest-numbered GPU", "Which is it?", self._first)

    def _as_requested(
        self, op_type: str, attributes: Attributes, fields: Fields, requested: str, replica: int | None
    ) -> Reason:
        request, name = parse(requested), short_name(requested)
        question = Rule("tf.device" if replica is None else "strategy", "What was asked for?", name)
        present = Rule("machine", "Is it here?", "yes")
        if _meets(fields, request):
            reason = Reason("explicit scope") if replica is None else Reason("replica of a strategy", str(replica))
            return reason.after(question, present)
        if any(_meets(device, request) for device in self._devices):
            reason = self._beside_gpus(op_type, attributes) if request.device_type == "GPU" else Reason(PLACER)
            return reason.after(question, present, *reason.path[1:])
        absent = Rule("machine", "Is it here?", "no")
        return Reason("soft placement", name).after(question, absent, Rule("soft placement", "Is it on?", "yes"))

    def _beside_gpus(self, op_type: str, attributes: Attributes) -> Reason:
        """Returns why an op is not on a GPU although one exists."""
        registry, lowest = self.registry, self._lowest()
        if not registry.has_kernels(op_type):
            return Reason(PLACER).after(lowest)
        if "GPU" not in registry.device_types(op_type, attributes):
            answer = Rule("kernel", f"Has {op_type} one on GPUs?", "no")
            return Reason("no kernel on GPU", self._without_kernel(op_type, attributes)).after(lowest, answer)
        if not registry.host_outputs(op_type, "GPU", attributes):
            return Reason(PLACER).after(lowest)
        dtypes = set(registry.output_dtypes(op_type, attributes))
        if dtypes <= {INT32, STRING}:
            name = self._dtype_name(min(dtypes))
            return Reason("host-memory dtype", name).after(lowest, Rule("dtype", f"Where is {name} kept?", "host"))
        return Reason(HOST_RESULT, op_type).after(lowest, Rule("kernel", "Where does it write?", "host"))

    def _without_kernel(self, op_type: str, attributes: Attributes) -> str:
        """Returns what GPUs have no kernel for: an op, or an op with certain dtypes, such as `MatMul with int32`."""
        dtypes = self.registry.chosen_dtypes(op_type, attributes)
        if not dtypes or not self.registry.runs_on(op_type, "GPU"):
            return op_type
        return f"{op_type} with {' and '.join(self._dtype_name(each) for each in dtypes)}"


def _follows_resource(op_type: str, device: str) -> Reason:
    if any(word in op_type for word in _OF_VARIABLES):
        return Reason("follows variable", device).after(Rule("variable", "Where is it?", device))
    return Reason(FOLLOWS_RESOURCE, device).after(Rule("resource", "Where is it?", device))


def _meets(device: Fields, request: Fields) -> bool:
    return all(required is None or required == actual for actual, required in zip(device, request, strict=True))
