"""The ops that update a variable together with its slots, and their execution."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from nbtf._devices.base import Spec
from nbtf._ops.arrays.index_writes import joined_at
from nbtf._ops.op import Op
from nbtf._ops.variables.creation import alone
from nbtf._runtime.execute import execute
from nbtf._runtime.tensor import Tensor
from nbtf._types import FLOATS, int32, int64

Kernel = Callable[..., Any]


class ApplyOp(Op):
    """An op such as `ApplyAdam`, which computes the new values of variables from settings and a gradient.

    These ops are not in the op table, because only graphs and the optimizers of TensorFlow 1 use them. They update the
    variables in place, so they allocate no memory. `refs` is the number of inputs that are variables; the first one
    determines the device.
    """

    def __init__(self, type: str, kernel: Kernel, refs: int, names: Sequence[str], count: int, sparse: bool) -> None:
        """Creates the op's record.

        Args:
          type: op type.
          kernel: `(xp, variables..., settings..., gradient, attributes...)`, which returns the new values.
          refs: number of variables.
          names: names of the inputs, followed by those of the attributes.
          count: number of inputs.
          sparse: whether the last input contains the row indices of the gradient.
        """
        letters = ["T"] * (count - sparse) + ["I"] * sparse
        rule = f"{' '.join(letters)} -> {' '.join(['T'] * refs)}"
        sets = {"T": FLOATS, "I": frozenset({int32, int64})}
        super().__init__(type, kernel, rule, names, resource=True, shares_memory=True, sets=sets)
        self.refs = refs
        self.no_gradient = True
        self.infer(self._like_variables)

    def _like_variables(self, *specs: Spec, **attrs: Any) -> list[Spec]:
        return list(specs[: self.refs])

    def apply(
        self, variables: Sequence[Any], values: Sequence[Any], settings: Sequence[Tensor], attrs: Any, name: str
    ) -> None:
        """Updates variables.

        Args:
          variables: objects that store the values.
          values: tensors read from them, or the variables themselves, which are then read under their locks.
          settings: the other inputs.
          attrs: attributes of the node.
          name: name of the node.
        """
        alone(partial(self._apply, variables, values, settings, attrs, name), *variables)

    def _apply(
        self, variables: Sequence[Any], values: Sequence[Any], settings: Sequence[Any], attrs: Any, name: str
    ) -> None:
        new_values = execute(self, [variables[0], *values[1:], *settings], attrs, name)
        for variable, value in zip(variables, new_values if self.many else [new_values], strict=True):
            allocation, shared = variable._allocation, value._allocation is variables[0]._allocation
            variable._take(value)
            if shared:  # written in place, so that each value keeps its memory
                variable._allocation = allocation


class Update:
    """An update formula in the forms that graphs need: for references and resources, dense gradients and rows."""

    def __init__(self, type: str, kernel: Kernel, refs: int, in_rows: bool = True) -> None:
        """Creates all forms of an update.

        Args:
          type: op type of the form for references and dense gradients: `Apply` followed by a name.
          kernel: as for `ApplyOp`; its parameters after `grad` are attributes.
          refs: number of variables.
          in_rows: whether the formula can update single rows.
        """
        names = kernel.__code__.co_varnames[1 : kernel.__code__.co_argcount]
        count = names.index("grad") + 1
        self.in_rows = in_rows
        self._whole = [ApplyOp(prefix + type, kernel, refs, names, count, False) for prefix in ("", "Resource")]
        if in_rows:
            with_rows = (*names[:count], "indices", *names[count:])
            rows = _of_rows(kernel, refs, count)
            types = (f"Sparse{type}", f"ResourceSparse{type}")
            self._rows = [ApplyOp(op_type, rows, refs, with_rows, count + 1, True) for op_type in types]

    def op(self, resource: bool, rows: bool) -> ApplyOp:
        """Returns the op of one form."""
        return (self._rows if rows else self._whole)[resource]


def _of_rows(kernel: Kernel, refs: int, count: int) -> Kernel:
    """Returns a kernel that updates only the rows in the gradient; repeated rows are summed first."""

    def of_rows(xp: Any, *inputs: Any, **attrs: Any) -> Any:
        tables, settings = inputs[:refs], inputs[refs : count - 1]
        grad, indices = inputs[count - 1 : count + 1]
        attributes: Mapping[str, Any] = attrs
        rows, row_numbers = xp.unique(indices, return_inverse=True)
        summed = joined_at(
            xp, xp.add, xp.zeros((len(rows), *grad.shape[1:]), grad.dtype), [row_numbers.reshape(-1)], grad
        )
        new_rows = kernel(xp, *[table[rows] for table in tables], *settings, summed, *inputs[count + 1 :], **attributes)
        results: list[Any] = []
        for old, new in zip(tables, new_rows if refs > 1 else [new_rows], strict=True):
            result = old.copy()
            result[rows] = new
            results.append(result)
        return tuple(results) if refs > 1 else results[0]

    return of_rows
