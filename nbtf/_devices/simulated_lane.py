"""The express lane of a simulated GPU: an op's arrays and their memory holds, without the checks of the road."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, cast

import numpy as np

from nbtf._devices.base import Label, Spec, arrays_of
from nbtf._devices.bfc.chunks import MIN_CHUNK
from nbtf._devices.cpu import bound
from nbtf._devices.simulated_account import WORTH_A_LOOK, ChargedGPU, QuickRequest
from nbtf._devices.sites import CallSite
from nbtf._types import DType

_REMEMBERED = 4096
"""Number of cached requests: ops with the input shapes they ran on."""


class ListsRequest(NamedTuple):
    """The lane's data for an op that takes lists or has several results."""

    function: Callable[..., Any]
    attrs: Mapping[str, Any]
    """In the order in which kernels take them."""
    specs: Sequence[Spec]
    pieces: Sequence[tuple[int, Label]]
    """Bytes and label of each result."""
    room: int
    """If a piece of this many bytes is free, all results can be granted."""
    dtypes: Sequence[DType]


class LaneGPU(ChargedGPU):
    """One logical GPU on a simulated card: the part that serves its lane."""

    lane = lists_in_lane = records_in_lane = True

    def quick(self, op: Any, inputs: tuple[Any, ...], attrs: tuple[Any, ...]) -> tuple[Any, Any]:
        """Serves the express lane: returns the op's single result array, and the hold of its memory.

        The kernel runs before memory is requested from the allocator. The road may have to run it again and must then
        find the account unchanged, so the lane serves only small results.

        Raises:
          LookupError: if the road must run the op: for a large result, a result of unknown size, or any error.
        """
        if op.shares_memory:
            return self.view(op, inputs, attrs)
        key = (op, attrs, *[(buffer._array.shape, buffer._dtype, buffer._host) for buffer in inputs])
        try:
            request = self._quick.get(key)
        except TypeError:  # an attribute is a list, which cannot be hashed
            key = (op, tuple([tuple(attr) if attr.__class__ is list else attr for attr in attrs]), *key[2:])
            request = self._quick.get(key)
        if request is None:
            if len(self._quick) >= _REMEMBERED:
                self._quick.clear()
            request = self._quick[key] = self.quick_request(op, inputs, attrs)
        return self.granted(op, inputs, attrs, request)

    def granted(
        self, op: Any, inputs: tuple[Any, ...], attrs: tuple[Any, ...], request: QuickRequest
    ) -> tuple[Any, Any]:
        """Returns what `quick` returns, for a known request; while a journal is kept, no request is refused here.

        Raises:
          LookupError: if the road must run the op.
        """
        function, nbytes, label = request
        arrays = [buffer._array for buffer in inputs]
        array = function(*arrays, *attrs)
        if array.__class__ is not np.ndarray:
            array = np.asarray(array)
        elif not op.function:
            owner = array if array.base is None else array.base
            for input_array in arrays:
                if owner is input_array or owner is input_array.base:
                    array = array.copy()
                    break
        allocator = self._allocator
        if array.nbytes != nbytes or allocator is None or not (self._journal is None or allocator.has_room(nbytes)):
            raise LookupError
        chunk = allocator.allocate(nbytes, label)
        if chunk is None and nbytes:
            raise LookupError
        return array, chunk

    def granted_lists(self, op: Any, inputs: Sequence[Any], request: ListsRequest) -> list[tuple[Any, Any]]:
        """Does what `granted` does for an op with list inputs or several results; returns each array with its hold.

        Raises:
          LookupError: if the road must run the op.
        """
        allocator, pieces = self._allocator, request.pieces
        if allocator is None or not allocator.has_room(request.room):
            raise LookupError
        arrays, owned = arrays_of(inputs), list[Any]()
        results = request.function(*arrays, *request.attrs.values())
        if results.__class__ is not tuple and results.__class__ is not list:
            results = (results,)
        for array, (nbytes, _) in zip(results, pieces, strict=True):
            if array.__class__ is not np.ndarray:
                array = np.asarray(array)
            if array.nbytes != nbytes:
                raise LookupError
            owned.append(array if _is_most(array) else copy_if_shared(array, arrays))
        return [(array, allocator.allocate(*piece)) for array, piece in zip(owned, pieces, strict=True)]

    def lists_request(
        self,
        op: Any,
        attrs: Mapping[str, Any],
        specs: Sequence[Spec],
        dtypes: Sequence[DType],
        site: CallSite | None = None,
    ) -> ListsRequest:
        """Returns the lane's data for an op that takes lists or has several results.

        Raises:
          LookupError: if the road must run the op.
        """
        if self._scratch is None or any([None in shape for shape, _ in specs]):
            raise LookupError
        pieces = [self._new_request(op, cast("tuple[int, ...]", shape), dtype, site) for shape, dtype in specs]
        total = sum([nbytes for nbytes, _ in pieces])
        if total >= WORTH_A_LOOK:
            raise LookupError
        # Enough wherever each result is placed: the piece is split as long as half of it remains.
        room = 2 * (total + MIN_CHUNK * len(pieces))
        return ListsRequest(bound(op), {name: attrs[name] for name in op.attrs}, specs, pieces, room, dtypes)

    def view(self, op: Any, inputs: tuple[Any, ...], attrs: tuple[Any, ...]) -> tuple[Any, Any]:
        """Returns an array that shares an input's memory, and the hold of that memory."""
        if self._scratch is None:
            raise LookupError
        function = self._functions.get(op)
        if function is None:
            function = self._functions[op] = bound(op)
        arrays: list[Any] = []
        holds: list[Any] = []
        for buffer in inputs:
            if buffer._host:
                raise LookupError
            array, hold = buffer._array, buffer._allocation  # read together: see `Variable._take`
            arrays.append(array)
            holds.append(hold)
        array = function(*arrays, *attrs)
        return array, next((hold for x, hold in zip(arrays, holds, strict=True) if x is array), holds[0])

    def quick_request(
        self, op: Any, inputs: tuple[Any, ...], attrs: tuple[Any, ...], site: CallSite | None = None
    ) -> QuickRequest:
        """Returns the lane's data for an op.

        Raises:
          LookupError: if the road must run the op.
        """
        if self._scratch is None or any([buffer._host for buffer in inputs]):
            raise LookupError
        specs = op.specs(inputs, op.normalised(dict(zip(op.attrs, attrs, strict=True))))
        if not specs or None in specs[0].shape:
            raise LookupError
        nbytes, label = self._new_request(op, specs[0].shape, specs[0].dtype, site)
        if nbytes >= WORTH_A_LOOK:
            raise LookupError
        return bound(op), nbytes, label


def _is_most(array: Any) -> bool:
    """Returns whether an array is most of its base array, and has the same layout as a copy would have.

    It keeps less than twice its bytes alive, and arrays never change, so that the missing copy cannot be noticed.
    """
    owner = array.base
    return owner is not None and 2 * array.nbytes > owner.nbytes and array.flags.c_contiguous


def copy_if_shared(array: Any, inputs: list[Any]) -> Any:
    """Returns a copy of an array that shares an input's memory; any other array is returned unchanged.

    On a card, a slice or a transposed matrix is a new array and does not keep the whole input alive.
    """
    owner = array if array.base is None else array.base
    for input_array in inputs:
        if input_array.__class__ is list:
            array = copy_if_shared(array, input_array)
        elif owner is input_array or owner is input_array.base:
            return array.copy()
    return array
