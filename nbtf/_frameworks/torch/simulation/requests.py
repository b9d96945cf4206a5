"""Determines how much memory an op requests from a simulated card before it runs.

PyTorch's own shape functions, those for devices of type `meta`, compute the sizes, which are then cached. If result
shapes depend on values, they are unknown in advance, and the memory is allocated afterwards.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from nbtf._devices.base import Label
from nbtf._frameworks.torch.simulation.machine import Machine, extent_of

if TYPE_CHECKING:
    from nbtf._frameworks.torch.simulation.kernels import HostKernel

_REMEMBERED = 1024
"""Most cached calls of one op: a loop over ever new shapes must not fill the memory."""


def paired(tensors: Any, results: Any) -> list[tuple[Any, Any]]:
    """Returns the pairs of two lists of tensors, or of two tensors."""
    is_list = tensors.__class__ is list or tensors.__class__ is tuple
    return [*zip(tensors, results, strict=True)] if is_list else [(tensors, results)]


def has_room(output: Any, result: Any) -> bool:
    """Returns whether the memory of an output, from its first element on, is large enough for a result."""
    room = output.untyped_storage().nbytes() - output.storage_offset() * output.element_size()
    return extent_of(result) <= room


class Requests:
    """The memory requests of one op."""

    def __init__(self, machine: Machine, kernel: HostKernel) -> None:
        """Stores the machine and the kernel of the op."""
        self._machine, self._kernel, self._tensor = machine, kernel, machine.torch.Tensor
        self._known_requests: dict[Any, list[tuple[int, Label]]] = {}

    def take(self, args: Sequence[Any], kwargs: Mapping[str, Any], number: int) -> list[Any]:
        """Allocates memory for the tensors that an op creates, as far as their sizes are known; in their order.

        Raises:
          OutOfMemoryError: if the device has too little memory for all of them.
        """
        try:
            key: Any = tuple([self._key(value) for value in args])
            if kwargs:
                key += tuple([(name, self._key(kwargs[name])) for name in kwargs])
            requests = self._known_requests.get(key)
        except TypeError:  # an argument is not hashable
            key, requests = None, None
        if requests is None:
            if len(self._known_requests) >= _REMEMBERED:
                self._known_requests.clear()
            requests = self._known_requests[key] = self._told_by_shapes(args, kwargs)
        return self._granted(requests, number)

    def take_written(
        self, kwargs: Mapping[str, Any], outputs: Mapping[str, Any], destinations: Sequence[Any], number: int
    ) -> list[Any]:
        """Allocates memory for those outputs whose own memory is too small for the results.

        Args:
          kwargs: the lowered arguments of the op, by name.
          outputs: empty outputs without values, by name; each a tensor or a list.
          destinations: the device's outputs, each a tensor or a list, in the same order.
          number: number of the device.
        """
        try:
            self._kernel.run(**{**{name: self._outline(value) for name, value in kwargs.items()}, **outputs})
        except Exception:
            return []
        pairs = [
            pair
            for tensors, results in zip(destinations, outputs.values(), strict=True)
            for pair in paired(tensors, results)
        ]
        return self._granted(
            [self._request(output) for tensor, output in pairs if not has_room(tensor, output)], number
        )

    def _key(self, value: Any) -> Any:
        """Returns the part of an argument that determines shapes."""
        if isinstance(value, self._tensor):
            return value.shape, value.stride(), value.dtype
        if value.__class__ is list or value.__class__ is tuple:
            return tuple([self._key(element) for element in value])
        return float if value.__class__ is float else (value.__class__, value)

    def _told_by_shapes(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[tuple[int, Label]]:
        """Returns the requests for the results that PyTorch predicts; none if it cannot, or if the op will raise."""
        try:
            result = self._kernel.run(
                *[self._outline(value) for value in args], **{name: self._outline(kwargs[name]) for name in kwargs}
            )
        except Exception:
            return []
        returned = self._kernel.returned
        results = (result,) if len(returned) < 2 else result
        new = [*self._tensors([value for value, name in zip(results, returned, strict=True) if name is None])]
        if any([each.layout is not self._machine.torch.strided or each.is_nested or each.is_quantized for each in new]):
            return []  # the memory of a sparse tensor depends on values
        return [self._request(tensor) for tensor in new]

    def _outline(self, value: Any) -> Any:
        """Returns an argument with a tensor's shape in place of its values."""
        if isinstance(value, self._tensor):
            return self._machine.torch.empty_strided(
                value.size(), value.stride(), dtype=value.dtype, device=self._machine.meta
            )
        if value.__class__ is list or value.__class__ is tuple:
            return [self._outline(element) for element in value]
        return self._machine.meta if value is self._machine.cpu else value

    def _tensors(self, values: Sequence[Any]) -> Iterator[Any]:
        for value in values:
            if isinstance(value, self._tensor):
                yield value
            elif value.__class__ is list or value.__class__ is tuple:
                yield from self._tensors(value)

    def _request(self, outline: Any) -> tuple[int, Label]:
        return extent_of(outline), self._machine.label(self._kernel.label, outline)._replace(site=None)

    def _granted(self, requests: Sequence[tuple[int, Label]], number: int) -> list[Any]:
        """Allocates memory for all requests or for none."""
        machine, site, grants = self._machine, self._machine.site(), list[Any]()
        machine.look_at_computer(sum([nbytes for nbytes, _ in requests]), number)
        try:
            for nbytes, label in requests:
                grants.append(machine.charge(nbytes, number, label if site is None else label._replace(site=site)))
        except BaseException:
            machine.give_back(grants, number)
            raise
        return grants
