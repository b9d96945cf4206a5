"""Kernels that run ops on simulated devices.

The PyTorch dispatcher calls the kernel for a device's type. For `cuda` it finds the kernels of this module: they run
the CPU op on the same memory, and turn its results into tensors of the device. Everything above the dispatcher
(autograd, autocast, views, `torch.func`) is unchanged PyTorch, and works as on a card.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from functools import partial
from typing import Any

from nbtf._frameworks.torch.simulation.agreement import check_devices
from nbtf._frameworks.torch.simulation.conversion import accepting
from nbtf._frameworks.torch.simulation.determinism import deterministic_only
from nbtf._frameworks.torch.simulation.machine import Machine
from nbtf._frameworks.torch.simulation.only_on_cpu import refusing
from nbtf._frameworks.torch.simulation.overlaps import SharedStorages
from nbtf._frameworks.torch.simulation.requests import Requests, has_room, paired

_NATIVE = frozenset({"aten::_unsafe_view", "aten::lift", "aten::lift_fresh"})
"""Ops that PyTorch composes for all devices, and whose results share memory although their schema does not show it."""


class Kernels:
    """Kernels for all ops that a device must implement."""

    def __init__(
        self,
        machine: Machine,
        special: dict[str, Callable[..., Any]],
        composites: dict[str, Callable[..., Any]],
        groups: Iterable[tuple[str, str, Callable[..., Any]]] = (),
    ) -> None:
        """Stores the machine and the special kernels.

        Args:
          machine: machine with the devices.
          special: kernels for ops that need more than the CPU op, by the op's full name.
          composites: kernels above autograd for ops that are composed of others.
          groups: kernels for operations of process groups, with their names and dispatch keys.
        """
        self._machine, self._special, self._composites, self._of_groups = machine, special, composites, groups
        self._library: Any = None
        self._rest: Any = None
        self._groups: dict[str, Any] = {}
        self._registered: set[tuple[str, str]] = set()
        """The ops and dispatch keys of kernels for sparse and nested tensors."""

    def register(self) -> None:
        """Registers the kernels with the dispatcher."""
        torch = self._machine.torch
        self._library = torch.library.Library("aten", "IMPL")
        implement = self._library.m.impl
        self._rest = torch.library.Library("_", "IMPL")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # replacing PyTorch's general kernels is intended
            for name in torch._C._dispatch_get_all_op_names():
                if name.startswith("aten::") and name not in _NATIVE:
                    self._register_op(name)
            for name, key, kernel in self._of_groups:
                namespace = name.partition("::")[0]
                if namespace not in self._groups:
                    self._groups[namespace] = torch.library.Library(namespace, "IMPL")
                self._groups[namespace].m.impl(name, key, kernel)
            if self._machine.layouts is not None:
                for name, key, kernel in self._machine.layouts.kernels():
                    implement(name, key, _unwinding(torch, kernel))
                    self._registered.add((name, key))
            for name, kernel in self._composites.items():
                implement(name, "AutogradCUDA", _unwinding(torch, kernel))
                implement(name, "CUDA", _unwinding(torch, kernel))

    def _register_op(self, name: str) -> None:
        """Registers the kernel of an op, unless it is composed of others for every device."""
        torch, implement = self._machine.torch, self._library.m.impl
        has_kernel = partial(torch._C._dispatch_has_kernel_for_dispatch_key, name)
        has_own = has_kernel("CPU")
        if has_own or has_kernel("CompositeExplicitAutograd") or name in self._special:
            kernel = self._special.get(name) or self._kernel(name, has_own)
            if kernel is not None:
                is_view = isinstance(kernel, ViewKernel)  # a view allocates no memory
                implement(name, "CUDA", kernel if is_view else _unwinding(torch, kernel))
        elif has_kernel("CUDA"):  # only in a build with CUDA
            if has_kernel("CompositeImplicitAutograd"):
                for key in ("AutogradCUDA", "CUDA"):
                    implement(name, key, self._machine.op(name).decompose)
            else:
                implement(name, "CUDA", _refusing(name))

    def remove(self) -> None:
        """Unregisters the kernels."""
        if self._library is not None:
            self._library._destroy()
            self._rest._destroy()
            for library in self._groups.values():
                library._destroy()
            self._library = self._rest = None
            self._groups.clear()

    def fallback(self, key: str, kernel: Callable[..., Any]) -> None:
        """Registers a function for all ops of another dispatch key that have no kernel there, except CUDA's own."""
        self._rest.m.fallback(key, kernel)
        core = self._machine.torch._C
        for name in core._dispatch_get_all_op_names() if self._machine.is_with_cuda else ():
            is_of_cuda = core._dispatch_has_kernel_for_dispatch_key(name, key) and (name, key) not in self._registered
            if is_of_cuda and name.startswith("aten::"):
                self._library.m.impl(name, key, partial(kernel, name))

    def _kernel(self, name: str, has_own: bool) -> Callable[..., Any] | None:
        """Returns the kernel of an op; None if the result is a view and PyTorch's general kernel is enough."""
        torch = self._machine.torch
        base, _, overload = name.partition(".")
        schema = torch._C._get_schema(base, overload)
        _, _, tags = torch._C._get_operation_overload(base, overload)
        if torch.Tag.inplace_view in tags:
            return None
        infos = [returned.alias_info for returned in schema.returns]
        is_view = any([info is not None and not info.is_write for info in infos])
        if is_view:
            return ViewKernel(self._machine, name) if has_own else None
        return deterministic_only(self._machine, name, HostKernel(self._machine, name, schema))


def _of_each(function: Callable[[Any], Any], value: Any) -> Any:
    """Returns what a function returns for a tensor, or for each tensor of a list."""
    return (
        [function(each) for each in value] if value.__class__ is list or value.__class__ is tuple else function(value)
    )


def _refusing(name: str) -> Callable[..., Any]:
    """Returns a kernel for an op that only CUDA has."""

    def refuse(*_args: Any, **_kwargs: Any) -> Any:
        raise NotImplementedError(f"Simulated GPUs do not support {name}: PyTorch's CPU lacks it.")

    return refuse


def _unwinding(torch: Any, kernel: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a kernel that drops its frames from the traceback when memory runs out: they would keep tensors alive."""

    def run(*args: Any, **kwargs: Any) -> Any:
        try:
            return kernel(*args, **kwargs)
        except torch.OutOfMemoryError as error:
            args, kwargs = (), {}
            raise error.with_traceback(None)  # noqa: B904  # it is the same error

    return run


_NOTHING = nullcontext()
_UNFIT: Any = object()
"""Marks an op whose outputs do not have the required shape."""


def _kept_geometry(output: Any) -> tuple[Sequence[int], Sequence[int]]:
    """Returns the shape and strides with which the CPU op gets an output: empty, as it chooses them for its result.

    An expanded output keeps its own: some ops then raise an error, and others give it other memory.
    """
    is_expanded = any([size > 1 and not stride for size, stride in zip(output.size(), output.stride(), strict=True)])
    return (output.size(), output.stride()) if is_expanded else ((0,), (1,))


def _first_index(values: Sequence[Any], value: Any) -> int:
    """Returns the first index of a value."""
    return next(index for index, each in enumerate(values) if each is value)


class ViewKernel:
    """Makes or changes a view: the CPU kernel does that for every device."""

    def __init__(self, machine: Machine, name: str) -> None:
        """Stores the machine and the full name of the op."""
        self._machine, self._name = machine, name
        self._op: Any = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Makes the view, without touching values."""
        if self._op is None:
            self._op = self._machine.op(self._name)
        return self._op.redispatch(self._machine.cpu_keys, *args, **kwargs)


class HostKernel:
    """Runs the CPU op on the memory of device tensors."""

    def __init__(self, machine: Machine, name: str, schema: Any) -> None:
        """Reads from the schema which arguments the op writes, and which of them it returns."""
        self._machine, self._name, self.label = machine, name, name.partition(".")[0]
        self._op: Any = None
        self.run: Any = None
        """The CPU op."""
        self._arguments = [argument.name for argument in schema.arguments]
        written = {
            alias: argument.name
            for argument in schema.arguments
            if argument.alias_info is not None and argument.alias_info.is_write
            for alias in argument.alias_info.before_set
        }
        self._written = tuple(written.values())
        self._outputs = [
            argument.name
            for argument in schema.arguments
            if argument.kwarg_only and argument.alias_info is not None and argument.alias_info.is_write
        ]
        self._set = ViewKernel(machine, "aten::set_.source_Storage_storage_offset")
        self._is_pure, self._is_random = not schema.is_mutable, False
        argument_types = [str(argument.type) for argument in schema.arguments]
        self._is_factory = "Optional[Device]" in argument_types and not any(
            ["Tensor" in argument_type for argument_type in argument_types]
        )
        self.returned = [
            next((written[alias] for alias in returned.alias_info.before_set), None) if returned.alias_info else None
            for returned in schema.returns
        ]
        self._makes_tensors = None in self.returned
        self._returns_first = self.returned == self._arguments[:1]
        # The fused attention of the CPU chooses its products by whether query, key and value are the same tensor.
        self._compares = {"query", "key", "qkv_weight"}.issubset(self._arguments)
        self._requests = Requests(machine, self)
        tensors = sum(["Tensor" in argument_type for argument_type in argument_types])
        has_lists = any(["List[" in argument_type and "Tensor" in argument_type for argument_type in argument_types])
        self._may_overlap = schema.is_mutable and (tensors > 1 or has_lists) and machine.tensors.has_values
        self._shared_storages = SharedStorages(machine)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Runs the op."""
        machine = self._machine
        with machine.plain():
            if self._op is None:
                self._op = machine.op(self._name)
                # not `redispatch`, which does not accept numbers in place of tensors
                op = accepting(machine.torch, self._name, self._op._op)
                self.run = refusing(machine.torch, self._name, op)
                self._is_random = machine.torch.Tag.nondeterministic_seeded in self._op.tags
            host_args, host_kwargs, number = self._lowered(args, kwargs)
            if self._is_factory:
                return self._new(host_args, host_kwargs, number)
            grants = self._requests.take(host_args, host_kwargs, number) if self._makes_tensors else []
            with machine.generators[number].drawing() if self._is_random else _NOTHING:
                try:
                    result = self.run(*host_args, **host_kwargs)
                except BaseException as error:
                    machine.give_back(grants, number)
                    machine.check_computer(error, number, self.label)
                    if not (self._written or self._outputs) or "not resizable" not in str(error):
                        raise
                    result = _UNFIT
            if result is _UNFIT:
                return self._resized(args, kwargs, number)
            if machine.timing.is_wanted:
                self._add_time(number, host_args, host_kwargs, result)
            if self._is_pure:
                return machine.put_on_card(result, number, self.label, grants)
            if self._outputs:
                self._reshape_outputs(kwargs, host_kwargs)
            return self._with_written(result, args, kwargs, number, grants)

    def _lowered(self, args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[list[Any], dict[str, Any], int]:
        """Returns the arguments in the form that the CPU op takes, and the number of their device, which is checked."""
        lower, numbers = self._machine.lower, list[int]()
        host_args = [lower(value, numbers) for value in args]
        host_kwargs = {key: lower(value, numbers) for key, value in kwargs.items()} if kwargs else kwargs
        number = numbers[0] if numbers else self._machine.current
        if numbers.count(number) < len(numbers):
            check_devices(self._machine, self._name, self._arguments, args, kwargs)
            number = max(numbers)
        if self._compares:
            host_args = [host_args[_first_index(args, value)] for value in args]
        if self._may_overlap:
            host_args, host_kwargs = self._shared_storages.join(args, kwargs, host_args, host_kwargs)
        return host_args, host_kwargs, number

    def _reshape_outputs(self, kwargs: dict[str, Any], host_kwargs: dict[str, Any]) -> None:
        """Gives outputs the shape and values that the op gave the tensors below them; their memory was large enough."""
        for name in self._outputs:
            output: Any = kwargs.get(name)
            below: Any = host_kwargs.get(name)
            for tensor, host in paired(output, below):
                if tensor is None:
                    continue
                self._reshape(tensor, host)
                if host.is_conj() and not tensor.is_conj():  # the op has marked its output instead of writing it
                    host.conj().conj_physical_()

    def _reshape(self, tensor: Any, host: Any) -> None:
        """Gives a tensor the shape of another one in its own memory."""
        if tensor.size() != host.size() or tensor.stride() != host.stride():
            storage, offset = tensor.untyped_storage(), tensor.storage_offset()
            self._set(tensor, storage, offset, host.size(), host.stride())

    def _new(self, args: Sequence[Any], kwargs: dict[str, Any], number: int) -> Any:
        """Creates a tensor from no inputs: requests device memory before host memory is allocated."""
        machine = self._machine
        as_meta = {key: machine.meta if value is machine.tensors.device else value for key, value in kwargs.items()}
        outline = self.run(*args, **as_meta)
        nbytes = outline.untyped_storage().nbytes()
        machine.look_at_computer(nbytes, number)
        memory = machine.charge(nbytes, number, machine.label(self.label, outline))
        if machine.timing.is_wanted:
            machine.timing.add_op(number, self.label, (), {}, outline)
        if not machine.tensors.has_values:
            return machine.put_on_card(outline, number, self.label, [memory])
        with machine.generators[number].drawing() if self._is_random else _NOTHING:
            return machine.put_on_card(self.run(*args, **kwargs), number, self.label, [memory])

    def _resized(self, args: Sequence[Any], kwargs: dict[str, Any], number: int) -> Any:
        """Runs an op whose outputs do not all fit the results: they get another shape and, if needed, more memory."""
        machine = self._machine
        host_args, host_kwargs, _ = self._lowered(args, kwargs)  # the refused op has changed the shapes of the first
        by_name = dict(zip(self._arguments, args, strict=False)) | kwargs
        lowered = dict(zip(self._arguments, host_args, strict=False)) | host_kwargs
        names = dict.fromkeys([*self._written, *self._outputs])  # lists of outputs have no alias in their schema
        written = [name for name in names if by_name.get(name) is not None]
        destinations = {name: by_name[name] for name in written if name in self._outputs}
        copies = self._shared_storages.resizable([*by_name.values()], [*destinations.values()])
        lowered = {name: self._shared_storages.replaced(by_name[name], host, copies) for name, host in lowered.items()}
        on_meta = {
            name: _of_each(partial(self._empty_like, machine.meta), output) for name, output in destinations.items()
        }
        on_host = {
            name: _of_each(lambda output: copies.get(id(output), self._empty_like(machine.cpu, output)), output)
            for name, output in destinations.items()
        }
        read = {name: lowered[name].clone() for name in written if name not in destinations}  # such as running means
        grants = self._requests.take_written(lowered, on_meta, [*destinations.values()], number)
        outputs = read | on_host
        with machine.generators[number].drawing() if self._is_random else _NOTHING:
            try:
                result = self.run(**{**lowered, **outputs})
            except BaseException:
                machine.give_back(grants, number)
                raise
        if machine.timing.is_wanted:
            self._add_time(number, host_args, host_kwargs, result)
        pairs = [pair for name in written for pair in paired(by_name[name], outputs[name])]
        larger = [(tensor, host) for tensor, host in pairs if not has_room(tensor, host)]
        own_memory = [host.clone() if id(tensor) in copies else host for tensor, host in larger]
        all_placed = machine.put_on_card(own_memory, number, self.label, grants)
        for (tensor, _), placed in zip(larger, all_placed, strict=True):  # only after memory was found for all of them
            self._set(tensor, placed.untyped_storage(), 0, placed.size(), placed.stride())
        for tensor, host in pairs:
            if not any([tensor is each for each, _ in larger]):
                if tensor.size() != host.size():
                    self._reshape(tensor, host)
                machine.lower(tensor, []).copy_(host)
        returned = [by_name[name] for name in self.returned if name is not None]
        if not returned:
            return None
        return tuple(returned) if len(returned) > 1 else returned[0]

    def _empty_like(self, device: Any, output: Any) -> Any:
        """Returns an output on another device, without values."""
        return self._machine.torch.empty_strided(*_kept_geometry(output), dtype=output.dtype, device=device)

    def _add_time(self, number: int, args: Sequence[Any], kwargs: dict[str, Any], result: Any) -> None:
        """Adds the op to the card's modelled time; outputs given by name count as written, not read."""
        if not self.returned:
            by_name = dict(zip(self._arguments, args, strict=False)) | kwargs
            result = [by_name[name] for name in self._written if name in by_name]
        read = {name: value for name, value in kwargs.items() if name not in self._written}
        self._machine.timing.add_op(number, self.label, args, read, result)

    def _with_written(
        self, result: Any, args: Sequence[Any], kwargs: dict[str, Any], number: int, grants: list[Any]
    ) -> Any:
        """Returns written arguments as themselves, and other results as tensors of the device."""
        if not self.returned:
            return None
        if self._returns_first and args:  # such as `add_`
            return args[0]
        by_name = dict(zip(self._arguments, args, strict=False)) | kwargs
        outputs = [
            self._machine.put_on_card(value, number, self.label, grants) if name is None else by_name[name]
            for value, name in zip(result if len(self.returned) > 1 else (result,), self.returned, strict=True)
        ]
        return tuple(outputs) if len(outputs) > 1 else outputs[0]
