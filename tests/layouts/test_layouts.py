"""Do kernels give the same results in every memory layout, on every path? A share of `python -m tests.layouts`."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nbtf as tf
from nbtf._ops.op import OPS
from tests.conftest import ROOT
from tests.layouts.memory import LAYOUTS, Array, contiguous
from tests.layouts.search import Case, Report, cases_of, search
from tests.layouts.subjects import Subject, subjects
from tests.ops.test_every_op import OF_CLUSTERS

SUBJECTS = list(subjects())
SHARES = 8
WIDE = np.linspace(-3.0, 3.0, 24, dtype=np.float32).reshape(2, 3, 4)


@pytest.mark.parametrize("share", range(SHARES))
def test_a_case_of_every_subject_agrees(share: int) -> None:
    report = Report()
    for subject in SUBJECTS[share::SHARES]:
        search(subject, cases_of(subject, 1, seed=share), report)

    assert report.failures == []
    assert report.counts["calls"] > 300


def test_a_number_and_a_transposed_matrix_have_a_gelu() -> None:
    x = tf.constant(WIDE[0])

    assert tf.nn.gelu(3.0).numpy() == pytest.approx(2.9959502)
    np.testing.assert_array_equal(tf.transpose(tf.nn.gelu(tf.transpose(x))), tf.nn.gelu(x))


# What the search must not leave out


def test_every_op_is_a_subject_and_every_gradient_of_arrays_is_compared() -> None:
    all_names = {subject.name.partition(" ")[0] for subject in SUBJECTS}
    differentiable = {subject.name.partition(" ")[0] for subject in SUBJECTS if subject.differentiable}
    of_arrays = {op.type for op in OPS.values() if op.towards_x is not None}

    assert OPS.keys() - OF_CLUSTERS <= all_names
    assert of_arrays <= differentiable


def test_every_optimizer_and_activation_is_a_subject() -> None:
    names = {subject.name for subject in SUBJECTS}
    optimizers = {
        name
        for name, value in vars(tf.keras.optimizers).items()
        if isinstance(value, type) and issubclass(value, tf.keras.optimizers.Optimizer) and hasattr(value, "update")
    }

    assert {"Adam", "SGD"} < optimizers
    assert {f"optimizer {name}" for name in optimizers - {"Optimizer", "LossScaleOptimizer"}} <= names
    assert {"activation gelu", "permuted activation gelu"} < names


OPEN_LANES = {
    "_graph.plan.Plan": "functions",
    "_graph.program.ProgramWriter": "functions",
    "_graph.steps.OpStep": "functions",
    "_ops.arrays.indexing": "StridedSlice getitem",
    "_ops.express": "AddV2",
    "_ops.variables.updates.VariableUpdates": "AssignAddVariableOp",
    "autodiff.backward": "AddV2",
    "autodiff.custom": "AddV2",
    "autodiff.tape.GradientTape": "AddV2",
    "data.elements.HostScope": "dataset",
    "keras.optimizers.copies.Copy": "optimizer SGD",
    "keras.training.replica_parts": "fit of tensors",
}
"""Where it is asked whether nobody observes, so that ops can be left out: module or class, and a subject that runs it.

"functions" stands for all subjects that can be traced.
"""


def test_whoever_leaves_ops_out_is_run_by_a_subject() -> None:
    asking = set[str]()
    for path in sorted((ROOT / "nbtf").rglob("*.py")):
        module = ".".join(path.relative_to(ROOT / "nbtf").with_suffix("").parts)
        if not module.startswith(("_runtime", "_devices", "_frameworks", "_cluster", "notebook", "cli", "compat")):
            asking |= set(askers(module, path))
    names = [subject.name for subject in SUBJECTS]

    assert asking == OPEN_LANES.keys()
    assert all(
        subject == "functions" or any(name.startswith(subject) for name in names) for subject in OPEN_LANES.values()
    )


def askers(module: str, path: Path) -> list[str]:
    """Returns the module, or its classes, whose functions read the state of the lanes."""
    text = path.read_text()
    tree = ast.parse(text if "HERE." in text or "lane_at" in text else "")
    owners: list[tuple[str, ast.AST]] = [
        (f"{module}.{node.name}" if isinstance(node, ast.ClassDef) else module, node) for node in tree.body
    ]
    return [owner for owner, body in owners if any(map(is_asking, ast.walk(body)))]


def is_asking(node: ast.AST) -> bool:
    """Tells whether a part of a program reads the state of the lanes, or is the text of one that does."""
    if isinstance(node, ast.Attribute):
        return isinstance(node.value, ast.Name) and node.value.id == "HERE"
    if isinstance(node, ast.Name):
        return node.id == "lane_at"
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and "HERE." in node.value


# Would the search notice?


def careless(x: Any) -> Any:
    """Writes into a row that is a copy wherever the memory of the result is not one row."""
    result = tf.multiply(x, 0.5)
    row = result._array.reshape(-1)
    row += x._array.reshape(-1)
    return result


def test_a_kernel_that_writes_into_a_copy_is_noticed() -> None:
    report, layouts = Report(), ("contiguous", "fortran", "transposed", "backwards")
    search(Subject("careless", careless, [WIDE]), [Case(layout, "as written", "") for layout in layouts], report)

    failing = {failure.split(" | ")[1] for failure in report.failures}
    assert {"own dtype, as written, fortran", "own dtype, as written, transposed"} <= failing
    assert "own dtype, as written, contiguous" not in failing


def test_a_kernel_that_writes_into_its_input_is_noticed() -> None:
    def spoiling(x: Any) -> Any:
        x._array[...] = 0
        return x

    report = Report()
    search(Subject("spoiling", spoiling, [WIDE]), [Case("fortran", "as written", "")], report)

    assert all("an input was written to" in failure for failure in report.failures)
    assert report.failures


@pytest.mark.parametrize("name", LAYOUTS)
def test_a_layout_holds_the_same_elements(name: str) -> None:
    array = LAYOUTS[name](WIDE)
    assert (array.shape, array.dtype) == (WIDE.shape, WIDE.dtype)
    if not name.startswith("broadcast"):
        np.testing.assert_array_equal(array, WIDE)


def strides_of(array: Array) -> Sequence[int]:
    return array.strides


def test_layouts_differ() -> None:
    arrays = {name: layout(contiguous(WIDE)) for name, layout in LAYOUTS.items()}

    assert arrays["fortran"].flags.f_contiguous
    assert not arrays["transposed"].flags.f_contiguous
    assert not arrays["transposed"].flags.c_contiguous
    assert not arrays["every_second"].flags.c_contiguous
    assert max(strides_of(arrays["backwards"])) < 0
    assert 0 in strides_of(arrays["broadcast"])
    assert 0 in strides_of(arrays["broadcast_columns"])
    assert not arrays["unaligned"].flags.aligned
