"""Which Python values does TensorFlow turn into constants by running an op, and which numbers has it kept?"""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import Any

from nbtf._frameworks.tensorflow.internals import Internals
from nbtf._runtime.constants import Constants

_HOST = "/device:CPU:0"


class ConstantCache:
    """TensorFlow's cache of numbers, which shows whether a constant was created.

    Source: `TFE_TensorHandleCache` of TensorFlow 2.21.
    """

    def __init__(self, names: Internals) -> None:
        """Stores TensorFlow's private modules."""
        self._names = names
        self._kept = Constants()

    def begin(self) -> None:
        """Empties TensorFlow's cache, because its contents are unknown: each number is then created once more."""
        self._names.pywrap.TFE_ClearScalarCache()
        self._kept.begin_anew()

    def is_new(self, value: Any, dtype: int | None, requested: str) -> bool:
        """Returns whether TensorFlow has just created a constant, and did not take it from its cache.

        Args:
          value: the Python value.
          dtype: number of the requested dtype; None if the value decides.
          requested: requested device, empty for none.
        """
        if _HOST in requested:
            return False  # the tensor is there already, so TensorFlow runs no op
        if isinstance(value, float) and not isfinite(value):
            return True
        device: Any = requested
        number: Any = dtype
        key = self._kept.key(value, number, device, None)
        mark = id(key)
        return key is None or self._kept.claim(key, mark) == mark

    def requested_dtype(self, op_type: str, number: int, dtypes: Sequence[int | None]) -> int | None:
        """Returns the number of the dtype that TensorFlow requests when it converts an argument itself.

        Args:
          op_type: type of the op.
          number: number of the argument.
          dtypes: the dtype of each argument as far as it was a tensor, or was converted before.
        """
        definition = self._names.op_defs.get(op_type)
        if definition is None or number >= len(definition.input_arg):
            return None
        argument = definition.input_arg[number]
        if not argument.type_attr:
            return argument.type or None
        for each, dtype in zip(definition.input_arg, dtypes, strict=False):
            if each.type_attr == argument.type_attr and dtype is not None:
                return dtype
        attribute = next(each for each in definition.attr if each.name == argument.type_attr)
        return attribute.default_value.type or None
