"""Is what an op says of its results right, whatever is not known of its inputs: lengths, ranks, attributes?"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

from nbtf._devices.base import Spec
from nbtf._ops.specs import UNKNOWN, Dims, spec_of
from nbtf._runtime.context import Context, use_context
from nbtf._runtime.tape import Call
from tests.ops.listening import listening
from tests.ops.samples import all_samples
from tests.ops.table import OPS
from tests.ops.test_every_op import call
from tests.sweeps import check_each

SAMPLES = all_samples()
WITHOUT_RULE = frozenset({"DecodeImage", "ParseTensor"})
"""Ops of which nothing is known before they run: the bytes that they read decide even the rank."""


def calls_of(type: str) -> list[Call]:
    """The calls of an op in its samples."""
    with use_context(Context(environ={})), listening() as calls:
        for sample in SAMPLES:
            if sample.op == type:
                call(sample)
    return [heard for heard in calls if heard.op.type == type]


def specs_of(heard: Call) -> list[Any]:
    return [spec_of(list(value) if isinstance(value, tuple) else value) for value in heard.inputs]


def hide_lengths(value: Any, chance: random.Random, share: float) -> Any:
    """A spec, or a list of them, of which some lengths are not known any more."""
    if isinstance(value, list):
        return [hide_lengths(spec, chance, share) for spec in value]
    return Spec(tuple([None if chance.random() < share else n for n in value.shape]), value.dtype)


def hide_ranks(value: Any, chance: random.Random) -> Any:
    """A spec, or a list of them, of which some have no known rank any more."""
    if isinstance(value, list):
        return [hide_ranks(spec, chance) for spec in value]
    hidden: Any = None
    return Spec(hidden, value.dtype) if chance.random() < 0.5 else value


def hide_attrs(heard: Call, chance: random.Random) -> dict[str, Any]:
    """The attributes, of which one that may be a tensor in a graph is not known, or not all of it."""
    name = chance.choice(sorted(heard.op.host_inputs))
    value = heard.attrs[name]
    if value is None:
        return dict(heard.attrs)
    in_part = isinstance(value, tuple) and all(isinstance(n, int) for n in value)
    partial = tuple([None if n < 0 or chance.random() < 0.5 else n for n in value]) if in_part else UNKNOWN
    return {**heard.attrs, name: chance.choice([UNKNOWN, partial])}


def disagreements(shapes: Sequence[Dims], heard: Call) -> list[str]:
    """Where what was said of the results contradicts what they are."""
    real = [tuple(output._array.shape) for output in heard.outputs]
    if len(shapes) != len(real):
        return [f"{len(shapes)} shapes for {len(real)} results"]
    return [
        f"{dims} of {shape}"
        for dims, shape in zip(shapes, real, strict=True)
        if dims is not None
        and (len(dims) != len(shape) or any(n not in (None, m) for n, m in zip(dims, shape, strict=True)))
    ]


def lacks_rule(heard: Call) -> bool:
    """Whether an op knows nothing of its results though it knows the ranks of its inputs and its attributes."""
    try:
        shapes = heard.op.shapes(specs_of(heard), heard.attrs)
        for name in heard.op.host_inputs:
            heard.op.shapes(specs_of(heard), {**heard.attrs, name: UNKNOWN}, True)
    except (TypeError, IndexError, AttributeError):
        return True
    return None in shapes


def test_only_these_ops_have_no_rule_for_what_is_not_known() -> None:
    lacking = {type for type in OPS if any(map(lacks_rule, calls_of(type)))}

    assert lacking == WITHOUT_RULE


def test_rules_for_unknown_lengths_agree_with_real_results() -> None:
    check_each(sorted(OPS), unknown_lengths_agree_with_real_results)


def unknown_lengths_agree_with_real_results(type: str) -> None:
    chance = random.Random(type)
    for heard in calls_of(type):
        specs = specs_of(heard)
        for share in (0.2, 0.5, 0.5, 1.0):
            hidden = [hide_lengths(value, chance, share) for value in specs]

            assert not disagreements(heard.op.shapes(hidden, heard.attrs), heard), hidden


def test_rules_for_unknown_ranks_agree_with_real_results() -> None:
    check_each(sorted(OPS), unknown_ranks_agree_with_real_results)


def unknown_ranks_agree_with_real_results(type: str) -> None:
    chance = random.Random(type)
    for heard in calls_of(type):
        for _ in range(3):
            hidden = [hide_ranks(value, chance) for value in specs_of(heard)]

            assert not disagreements(heard.op.shapes(hidden, heard.attrs), heard), hidden


def test_rules_for_unknown_attributes_agree_with_real_results() -> None:
    types = sorted(type for type, op in OPS.items() if op.host_inputs)
    check_each(types, unknown_attributes_agree_with_real_results)


def unknown_attributes_agree_with_real_results(type: str) -> None:
    chance = random.Random(type)
    for heard in calls_of(type):
        for share in (0.0, 0.5, 1.0):
            hidden = [hide_lengths(value, chance, share) for value in specs_of(heard)]
            attrs: Mapping[str, Any] = hide_attrs(heard, chance)

            assert not disagreements(heard.op.shapes(hidden, attrs, True), heard), (hidden, attrs)
