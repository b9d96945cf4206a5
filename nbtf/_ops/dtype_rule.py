"""Which dtypes does an op accept, and which do its results have? The rule that each op's record contains."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from nbtf import _types
from nbtf._devices.base import Buffer
from nbtf._devices.cpu import CPU
from nbtf._ops.attributes import NodeForm
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.operator_types import Operators
from nbtf._runtime.tensor import Tensor
from nbtf._types import DType
from nbtf.errors import InvalidArgumentError


class DtypeRule:
    """The dtypes of an op's inputs and results.

    The rule is written `"T T -> T"`. A capital letter is any dtype of that letter's set, the same dtype at each
    occurrence. A dtype's name is that dtype, an attribute's name the dtype that the attribute holds, and `*` marks a
    list.
    """

    def __init__(
        self,
        type: str,
        rule: str,
        names: Sequence[str],
        sets: Mapping[str, frozenset[DType]],
        resource: bool,
        form: NodeForm,
    ) -> None:
        """Reads the rule of an op.

        Args:
          type: type of the op.
          rule: the rule.
          names: names of the inputs, then of the attributes.
          sets: the dtypes of each letter.
          resource: whether the first input is a variable.
          form: the op's definition in TensorFlow.
        """
        self.type, self.resource, self.form = type, resource, form
        inputs_rule, _, right = rule.partition("->")
        self.tokens: tuple[str, ...] = tuple(inputs_rule.split())
        self.results: tuple[str, ...] = tuple(right.split())
        self.many: bool = len(self.results) != 1 or self.results[0].endswith("*")
        self.inputs: tuple[str, ...] = tuple(names[: len(self.tokens)])
        self.attrs: tuple[str, ...] = tuple(names[len(self.tokens) :])
        self.sets: dict[str, frozenset[DType]] = dict(sets)
        self._slots = tuple(_slot(token, self.sets) for token in self.tokens)
        self._makes = tuple(self._maker(token) for token in self.results)
        self._like_first = [(make.many, make.place) for make in self._makes] == [(False, 0)]
        self._passed: set[tuple[DType, ...]] = set()
        self.takes_lists: bool = any(slot.many for slot in self._slots)

    def _maker(self, token: str) -> _Maker:
        """Returns where a result's dtype comes from: an input, an attribute or the rule."""
        letter, is_list = token.rstrip("*"), token[-1] == "*"
        for position, slot in enumerate(self._slots):
            if slot.letter == letter:
                if slot.fixed is not None and slot.many:
                    break
                if any(earlier.many for earlier in self._slots[:position]):
                    raise TypeError(f"{self.type}: the input that decides the result's dtype must come before lists")
                return _Maker(is_list, position, "", None)
        if letter in self.attrs:
            return _Maker(is_list, None, letter, None)
        return _Maker(is_list, None, "", _dtype_of_name(letter))

    def extends_to(self, dtype: DType, allowed: frozenset[DType]) -> bool:
        """Returns whether an input may have a dtype that its set lacks."""
        return False

    def is_given_values(self, inputs: Sequence[Any]) -> bool:
        """Returns whether inputs are lists or strings: TensorFlow then converts attributes in another way.

        Source: `ConvertToTensor` of pywrap_tfe_src.cc, which leaves such an op to Python's `args_to_matching_eager`.
        """
        for slot, value in zip(self._slots, inputs, strict=False):
            for item in value if slot.many else (value,):
                if item.__class__ is Tensor or isinstance(item, _READ_AT_ONCE) or hasattr(item, "__tf_tensor__"):
                    continue
                return True
        return False

    def convert(self, inputs: Sequence[Any]) -> Sequence[Any]:
        """Returns the inputs as tensors; a value gets the dtype of the tensor that shares its letter."""
        for value in inputs:
            if value.__class__ is not Tensor and not (self.resource and value is inputs[0]):
                return self._converted(inputs)
        return inputs

    def _converted(self, inputs: Sequence[Any]) -> list[Any]:
        dtypes_by_letter: dict[str, DType] = {}
        for slot, value in zip(self._slots, inputs, strict=True):
            if slot.allowed is not None and slot.letter not in dtypes_by_letter:
                dtype = _dtype_of(value)
                if dtype is not None:
                    dtypes_by_letter[slot.letter] = dtype
        skip = 1 if self.resource else 0
        result: list[Any] = list(inputs[:skip])
        for slot, value in zip(self._slots[skip:], inputs[skip:], strict=True):
            target = slot.fixed or dtypes_by_letter.get(slot.letter)
            if slot.many:
                items: list[Tensor] = []
                for item in value:
                    items.append(_converted(item, target))
                    target = target or dtypes_by_letter.setdefault(slot.letter, items[0]._dtype)  # the first's dtype
                result.append(items)
            else:
                tensor = _converted(value, target)
                result.append(tensor)
                dtypes_by_letter.setdefault(slot.letter, tensor._dtype)
        return result

    def check(self, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> tuple[DType, ...]:
        """Returns the inputs' dtypes, with lists flattened, after checking them against the rule.

        Raises:
          InvalidArgumentError: if dtypes that must agree differ, or the op does not support one of them.
        """
        if not self.tokens:
            return tuple(self.output_dtypes((), attrs, 1))  # an op without inputs is placed by its results
        if self.takes_lists:
            dtypes = tuple(
                [tensor._dtype for value in inputs for tensor in (value if value.__class__ is list else (value,))]
            )
        else:
            dtypes = tuple([tensor._dtype for tensor in inputs])
            if dtypes in self._passed:
                return dtypes
        bound: dict[str, DType] = {}
        for number, (slot, dtype) in enumerate(zip(self._flat_slots(inputs), dtypes, strict=True)):
            if dtype is not (slot.fixed or bound.get(slot.letter)):
                self._check_one(slot, number, dtype, bound)
        if not self.takes_lists:
            self._passed.add(dtypes)
        return dtypes

    def _flat_slots(self, inputs: Sequence[Any]) -> Sequence[_Slot]:
        if not self.takes_lists:
            return self._slots
        return [
            slot for slot, value in zip(self._slots, inputs, strict=True) for _ in range(len(value) if slot.many else 1)
        ]

    def _check_one(self, slot: _Slot, number: int, dtype: DType, bound: dict[str, DType]) -> None:
        if slot.allowed is not None and slot.letter not in bound:
            if dtype not in slot.allowed and not self.extends_to(dtype, slot.allowed):
                allowed, definition = self._declared(slot)
                text = f"Value for attr '{slot.letter}' of {dtype.c_name} is not in the list of allowed values: "
                raise InvalidArgumentError(f"{text}{allowed}{definition} [Op:{self.type}] name: ")
            bound[slot.letter] = dtype
            return
        expected = slot.fixed or bound[slot.letter]
        raise InvalidArgumentError(
            f"cannot compute {self.type} as input #{number}(zero-based) was expected to be a {expected.c_name} "
            f"tensor but is a {dtype.c_name} tensor [Op:{self.type}] name: "
        )

    def _declared(self, slot: _Slot) -> tuple[str, str]:
        """Returns the allowed dtypes of a letter and the definition that lists them; "" without one."""
        if self.form.definition is None:
            return ", ".join(sorted(dtype.c_name for dtype in slot.allowed or ())), ""
        declared = self.form.definition.partition(f"attr={slot.letter}:type")[2]
        allowed = declared.partition("[")[2].partition("]")[0].replace("DT_", "").lower()
        return (
            allowed,
            f"\n\t; NodeDef: {{{{node {self.type}}}}}; Op<name={self.type}; signature={self.form.definition}>",
        )

    def output_dtypes(self, dtypes: Sequence[DType], attrs: Mapping[str, Any], count: int) -> list[DType]:
        """Returns the results' dtypes; `count` is the length of a `*` result's list."""
        if self._like_first:
            return [dtypes[0]]
        result_dtypes: list[DType] = []
        for is_list, position, attr, fixed in self._makes:
            if position is not None:
                input_dtype = dtypes[position]
            elif is_list and attr:
                result_dtypes.extend(map(_types.as_dtype, attrs[attr]))
                continue
            else:
                input_dtype = fixed or _types.as_dtype(attrs[attr])
            result_dtypes.extend([input_dtype] * count if is_list else [input_dtype])
        return result_dtypes


_SPELLED = {"bool": "bool_"}

_OURS: tuple[type[Any], ...] = (Buffer, Operators)
"""Classes whose `_dtype` counts. A `_dtype` of foreign objects does not determine the dtype they convert to."""

_READ_AT_ONCE = (Buffer, CPU.xp.ndarray, int, float, complex)


class _Slot(NamedTuple):
    """One input of a rule: its letter, whether it is a list, and its allowed dtypes or its fixed dtype."""

    letter: str
    many: bool
    allowed: frozenset[DType] | None
    fixed: DType | None


class _Maker(NamedTuple):
    """One result of a rule: whether it is a list, and the input or attribute that gives its dtype, or the dtype."""

    many: bool
    place: int | None
    attr: str
    fixed: DType | None


def _slot(token: str, sets: Mapping[str, frozenset[DType]]) -> _Slot:
    letter = token.rstrip("*")
    allowed = sets.get(letter)
    return _Slot(letter, token[-1] == "*", allowed, _dtype_of_name(letter) if allowed is None else None)


def _dtype_of_name(name: str) -> DType:
    return getattr(_types, _SPELLED.get(name, name))


def _dtype_of(value: Any) -> DType | None:
    if value.__class__ is list or value.__class__ is tuple:
        return next((d for d in map(_dtype_of, value) if d is not None), None)
    return getattr(value, "_dtype", None) if isinstance(value, _OURS) else None


def _converted(value: Any, target: DType | None) -> Tensor:
    if value.__class__ is Tensor:
        return value
    has_dtype = isinstance(value, Buffer) or hasattr(value, "_watch")  # a variable or a graph tensor; see `check`
    tensor: Any = as_tensor(value, None if has_dtype else target)
    if tensor.__class__ is not Tensor and hasattr(tensor, "not_yet"):
        raise tensor.not_yet
    return tensor
