"""The dtype of a variable node's output: a reference such as `float32_ref`, or `resource`."""

from __future__ import annotations

from functools import cache
from typing import Any, Literal

from nbtf._types import DType, as_dtype, resource

Link = Literal["reference", "handle", "alias"]
"""How an output leads to a variable: as a TensorFlow 1 variable, which assigning ops pass on; as a resource; or as a
value read from a reference, which shows the variable's memory for as long as the run lasts."""

# Source: in types.proto of TensorFlow 2.21, `DT_FLOAT_REF` and its like are 100 above the types themselves.
_REFERENCES_FROM = 100


class ReferenceType(DType):
    """The dtype of a reference to elements of a dtype; it acts as that dtype wherever a dtype is expected."""

    __slots__ = ("_base",)

    def __init__(self, base: DType) -> None:
        """Describes references to a dtype."""
        for name in DType.__slots__:
            setattr(self, name, getattr(base, name))
        self.name = f"{base.name}_ref"
        self.c_name = f"{base.c_name}_ref"
        self.as_datatype_enum = base.as_datatype_enum + _REFERENCES_FROM
        self._base = base

    @property
    def base_dtype(self) -> DType:
        """The dtype of the elements."""
        return self._base

    def __eq__(self, other: object) -> bool:
        """Returns whether both are the same reference type: `float32_ref` is not `float32`."""
        return self is other

    __hash__ = object.__hash__

    def __reduce__(self) -> tuple[Any, tuple[DType]]:
        """Makes copies and pickles return the object itself."""
        return reference_to, (self._base,)


@cache
def reference_to(dtype: DType) -> ReferenceType:
    """Returns the dtype of references to elements of a dtype."""
    return ReferenceType(as_dtype(dtype))


def shown_dtype(dtype: DType, link: Link) -> DType:
    """Returns the dtype of an output that leads to a variable, whose elements are of `dtype`."""
    if link == "alias":
        return dtype
    return resource if link == "handle" else reference_to(dtype)
