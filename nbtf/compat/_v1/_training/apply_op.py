"""The ops that update a variable and its slots at once, and how they run."""

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
    """An op `ApplyAdam` and the like: from variables, settings and a gradient the new values of the variables.

    It is not in the table: only graphs and the optimizers of TensorFlow 1 have it. The variables are updated in place,
    so no memory is asked for. `refs` says how many of its inputs are variables; the first decides where it runs.
    """

    def __init__(self, type: str, kernel: Kernel, refs: int, names: Sequence[str], count: int, sparse: bool) -> None:
        """Makes a record.

        Args:
          type: the op type.
          kernel: `(xp, variables..., settings..., gradient, attributes...)`, which returns the new values.
          refs: the number of variables.
          names: of the inputs, and then of the attributes.
          count: the number of inputs.
          sparse: whether the last input is the numbers of the rows that the gradient has.
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
          variables: what keeps the values.
          values: what they are read as: tensors, or the variables again, which are read while nobody else updates them.
          settings: the other inputs.
          attrs: the attributes.
          name: of the node.
        """
        alone(partial(self._apply, variables, values, settings, attrs, name), *variables)

    def _apply(
        self, variables: Sequence[Any], values: Sequence[Any], settings: Sequence[Any], attrs: Any, name: str
    ) -> None:
        new_values = execute(self, [variables[0], *values[1:], *settings], attrs, name)
        for variable, value in zip(variables, new_values if self.many else [new_values], strict=True):
            allocation, shared = variable._allocation, value._allocation is variables[0]._allocation
            variable._take(value)
            if shared:  # in place: each stays in its own memory
                variable._allocation = allocation


class Update:
    """One way to update, in the forms that graphs have: for references and resources, whole gradients and rows."""

    def __init__(self, type: str, kernel: Kernel, refs: int, in_rows: bool = True) -> None:
        """Takes the type of the form for references and whole gradients, its kernel, and the number of variables.

        Args:
          type: `Apply` and a name.
          kernel: as `ApplyOp` takes it; what stands behind `grad` are attributes.
          refs: the number of variables.
          in_rows: whether rows can be updated alone, by the same formula.
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
        """Returns one of its forms."""
        return (self._rows if rows else self._whole)[resource]


def _of_rows(kernel: Kernel, refs: int, count: int) -> Kernel:
    """Returns a kernel that updates only the rows of a gradient; rows that come twice are added up first."""

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
