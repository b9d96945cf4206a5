"""The express lane of a simulated GPU: an op's arrays, and what holds their memory, without the road's questions."""

from __future__ import annotations

from typing import Any

import numpy as np

from nbtf._devices.cpu import bound
from nbtf._devices.simulated_account import WORTH_A_LOOK, ChargedGPU, QuickRequest
from nbtf._devices.sites import CallSite

_REMEMBERED = 4096
"""Ops on inputs of certain shapes that are remembered, with what they ask for."""


class LaneGPU(ChargedGPU):
    """One logical GPU on a simulated card, as far as its lane goes."""

    def quick(self, op: Any, inputs: tuple[Any, ...], attrs: tuple[Any, ...]) -> tuple[Any, Any]:
        """Is the express lane: returns the one array that an op makes, and what holds its memory.

        The kernel runs first, since the road may have to run it again, and must then find the account as it was: only
        small results may be made before the allocator is asked.

        Raises:
          LookupError: the road must do it: a result that is large or whose size is not known before, or any error.
        """
        if op.shares_memory:
            return self.view(op, inputs, attrs)
        key = (op, attrs, *[(buffer._array.shape, buffer._dtype, buffer._host) for buffer in inputs])
        try:
            request = self._quick.get(key)
        except TypeError:  # lists among the attributes
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
        """Returns what `quick` does, where it is known what the op asks for; nothing is refused where somebody listens.

        Raises:
          LookupError: the road must do it.
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

    def view(self, op: Any, inputs: tuple[Any, ...], attrs: tuple[Any, ...]) -> tuple[Any, Any]:
        """Returns an array that shows the memory of an input, and what holds that."""
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
            array, hold = buffer._array, buffer._allocation  # together: see `Variable._take`
            arrays.append(array)
            holds.append(hold)
        array = function(*arrays, *attrs)
        return array, next((hold for x, hold in zip(arrays, holds, strict=True) if x is array), holds[0])

    def quick_request(
        self, op: Any, inputs: tuple[Any, ...], attrs: tuple[Any, ...], site: CallSite | None = None
    ) -> QuickRequest:
        """Returns what the lane needs to know of an op.

        Raises:
          LookupError: the road must do it.
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
