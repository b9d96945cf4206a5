"""What is said of each cell: situations of nbval's users in one notebook, which runs once here and once in nbval."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

import pytest

from nbtf.cli.checking.notebook_check import Plan, check
from nbtf.cli.checking.sanitizing import ANNOUNCEMENT, BUILT_IN, read_rules
from nbtf.cli.checking.verdicts import NotebookVerdict, State
from nbtf.cli.execution import wait_for
from tests.cli.checking.cells import cell, error, png, result, save, shown, stream

SAME, RAN, SKIPPED, DIFFERS, FAILED = State.SAME, State.RAN, State.SKIPPED, State.DIFFERS, State.FAILED
PICTURE = "import base64\nfrom IPython.display import Image, display\ndisplay(Image(base64.b64decode('{}')))"
WIDGET = "from ipywidgets import IntSlider\nIntSlider(3)"
SLIDER = {"application_vnd.jupyter.widget-view+json": {"model_id": "recorded", "version_major": 2, "version_minor": 0}}


class Case(NamedTuple):
    """A cell, what is said of it, words of the reason, and whether nbval accepts it (None: as we do)."""

    name: str
    cell: Any
    state: State
    reason: str = ""
    nbval: bool | None = None


CASES = (
    # Outputs
    Case("text", cell("print('a')", stream("a\n")), SAME),
    Case("other text", cell("print('b')", stream("a\n")), DIFFERS, "+ b"),
    Case("text that is gone", cell("x = 1", stream("a\n")), DIFFERS, "no output now"),
    Case("text that was not", cell("print('new')"), DIFFERS, "none is recorded"),
    Case("nothing", cell("x = 1"), SAME),
    Case(
        "streams", cell("import sys\nprint(1)\nprint(2, file=sys.stderr)", stream("1\n"), stream("2\n", "stderr")), SAME
    ),
    Case(
        "streams in pieces",
        cell(
            "print(1, flush=True)\nprint(2, file=sys.stderr, flush=True)\nprint(3)",
            stream("1\n"),
            stream("2\n", "stderr"),
            stream("3\n"),
        ),
        SAME,
    ),
    Case("the other stream", cell("print(2, file=sys.stderr)", stream("2\n")), DIFFERS, "stderr"),
    Case("a bar of progress", cell("print('1%\\r99%')", stream("1%\r99%\n")), SAME),
    Case("a bar that was joined", cell("print('1%\\r99%')", stream("99%\n")), SAME),
    Case("value", cell("1 + 1", result("2")), SAME),
    Case("value and display", cell("display(1)\n2", shown(text_plain="1"), result("2")), SAME),
    Case("address", cell("object()", result("<object at 0x7f3a00112233>")), SAME),
    Case(
        "time",
        cell("import time\nprint(f'{time.perf_counter():.3f} s')", stream("1.234 s\n"), tags=("nbtf-vary=times",)),
        SAME,
    ),
    Case(
        "page",
        cell(
            "from IPython.display import HTML\nHTML('<b>3</b>')",
            result("<IPython.core.display.HTML object>", text_html="<b>3</b>"),
        ),
        SAME,
    ),
    Case(
        "update of a display",
        cell("h = display(1, display_id=True)\nh.update(2)", shown(text_plain="2")),
        SAME,
        nbval=False,
    ),
    Case(
        "cleared output",
        cell("from IPython.display import clear_output\nprint(1)\nclear_output()\nprint(2)", stream("2\n")),
        SAME,
        nbval=False,
    ),
    # Errors
    Case("error", cell("1 / 0"), FAILED, "ZeroDivisionError: division by zero"),
    Case("recorded error without a mark", cell("1 / 0", error("ZeroDivisionError", "division by zero")), FAILED),
    Case("error by tag", cell("{}['a']", error("KeyError", "'a'"), tags=("raises-exception",)), SAME),
    Case("error by nbval's tag", cell("{}['a']", error("KeyError", "'a'"), tags=("nbval-raises-exception",)), SAME),
    Case("error by comment", cell("# NBVAL_RAISES_EXCEPTION\n{}['a']", error("KeyError", "'a'")), SAME),
    Case("another error", cell("# NBVAL_RAISES_EXCEPTION\nq", error("KeyError", "'a'")), DIFFERS, "NameError"),
    Case(
        "other words of an error", cell("# NBVAL_RAISES_EXCEPTION\n{}['b']", error("KeyError", "'a'")), DIFFERS, "'b'"
    ),
    Case(
        "an error that is gone", cell("# NBVAL_RAISES_EXCEPTION\n1", error("KeyError", "'a'")), DIFFERS, "no output now"
    ),
    Case("any error", cell("# NBVAL_IGNORE_OUTPUT\n# NBVAL_RAISES_EXCEPTION\nq", error("KeyError", "'a'")), RAN),
    Case("magic that is not there", cell("%no_such_magic"), FAILED, "no_such_magic", False),
    # Marks
    Case("ignored by comment", cell("# NBVAL_IGNORE_OUTPUT\nprint(time.time())", stream("1\n")), RAN),
    Case("ignored by tag", cell("print(time.time())", stream("1\n"), tags=("nbval-ignore-output",)), RAN),
    Case("ignored by an old comment", cell("#PYTEST_VALIDATE_IGNORE_OUTPUT\nprint(5)", stream("1\n")), RAN),
    Case("ignored, but it fails", cell("# NBVAL_IGNORE_OUTPUT\n1 / 0"), FAILED),
    Case("checked by comment", cell("# NBVAL_CHECK_OUTPUT\nprint(5)", stream("5\n")), SAME),
    Case(
        "a comment goes before a tag",
        cell("# NBVAL_CHECK_OUTPUT\nprint(5)", stream("1\n"), tags=("nbval-ignore-output",)),
        DIFFERS,
    ),
    Case("skipped by comment", cell("# NBVAL_SKIP\nskipped = 1 / 0", stream("1\n")), SKIPPED),
    Case("skipped by tag", cell("skipped = 1 / 0", tags=("nbval-skip",)), SKIPPED),
    Case("skipped by nbclient's tag", cell("skipped = 1 / 0", tags=("skip-execution",)), SKIPPED, nbval=False),
    Case(
        "it was skipped",
        cell("# NBVAL_RAISES_EXCEPTION\nskipped", error("NameError", "name 'skipped' is not defined")),
        SAME,
    ),
    Case(
        "no comment but a text", cell("print('# NBVAL_SKIP')\nprint(' # NBVAL_IGNORE_OUTPUT')", stream("a\n")), DIFFERS
    ),
    Case("never run", cell("print(5)", run=False), RAN),
    Case("never run, with an output", cell("print(5)", stream("5\n"), run=False), SAME, nbval=False),
    # Pictures, widgets
    Case(
        "picture",
        cell(
            PICTURE.format(png()),
            shown(text_plain="<IPython.core.display.Image object>", image_png=png(Comment="other bytes")),
        ),
        SAME,
    ),
    Case(
        "changed picture",
        cell(PICTURE.format(png()), shown(text_plain="<IPython.core.display.Image object>", image_png=png(dots=3))),
        DIFFERS,
        "looks different",
        True,
    ),
    Case(
        "picture that is gone",
        cell("x = 1", shown(text_plain="<IPython.core.display.Image object>", image_png=png())),
        DIFFERS,
        "0 pictures; recorded: 1",
    ),
    Case("widget", cell(WIDGET, result("IntSlider(value=3)", **SLIDER)), SAME),
    Case("widget with another value", cell(WIDGET, result("IntSlider(value=4)", **SLIDER)), DIFFERS, "value=3"),
    # Magics
    Case("cell magic", cell("%%capture kept\nprint(5)"), SAME),
    Case(
        "line magic",
        cell(
            "%alias_magic t timeit\n%who_ls no_such_type",
            stream("Created `%t` as an alias for `%timeit`.\nCreated `%%t` as an alias for `%%timeit`.\n"),
            result("[]"),
        ),
        SAME,
    ),
    Case("shell", cell("!echo 5", stream("5\n")), SAME, nbval=False),
    Case("await", cell("import asyncio\nawait asyncio.sleep(0.05)\nprint('slow')", stream("slow\n")), SAME),
    # Ours
    Case("number within its tolerance", cell("# NBTF_TOLERANCE=1e-3\n0.50001", result("0.5")), SAME, nbval=False),
    Case(
        "number beyond its tolerance",
        cell("0.6", result("0.5"), tags=("nbtf-tolerance=1e-3",)),
        DIFFERS,
        "tolerance 0.001",
    ),
    Case("tolerance by metadata", cell("0.50001", result("0.5"), limits={"tolerance": 1e-3}), SAME, nbval=False),
    Case("number without a tolerance", cell("0.50001", result("0.5")), DIFFERS),
    Case(
        "simulated GPUs",
        cell(
            "import nbtf as tf\nx = tf.ones([2])\n[device.name for device in tf.runtime.devices() if device.simulated]",
            result("['GPU:0', 'GPU:1']"),
        ),
        SAME,
        nbval=False,
    ),
    Case("memory within bounds", cell("a = tf.ones([1024])", tags=("nbtf-at-most=1MiB",)), SAME),
    Case("memory beyond bounds", cell("b = tf.ones([2**20])", tags=("nbtf-at-most=1MiB",)), FAILED, "peak 4", True),
    Case("memory kept", cell("# NBTF_KEPT=0\nc = tf.ones([1024])"), FAILED, "kept 4,096 B", True),
    Case("memory freed", cell("# NBTF_KEPT=0\ndel a, b, c"), SAME),
    Case("op on its device", cell("# NBTF_PLACEMENT=MatMul=GPU:0\nd = tf.matmul([[1.]], [[2.]])"), SAME),
    Case(
        "op elsewhere",
        cell("d = tf.matmul([[1.]], [[2.]])", limits={"placement": ["MatMul=GPU:1"]}),
        FAILED,
        "+ MatMul on GPU:0 (simulated): lowest-numbered GPU",
        True,
    ),
    Case("op that did not run", cell("# NBTF_PLACEMENT=Conv2D=GPU:0\nx = 1"), FAILED, "no Conv2D", True),
    Case(
        "copies",
        cell("with tf.device('GPU:1'):\n    e = d + 1.0", tags=("nbtf-no-copies",)),
        FAILED,
        "1 copy from GPU:0",
        True,
    ),
)


@pytest.fixture(scope="module")
def notebook(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save(tmp_path_factory.mktemp("cells") / "cases.ipynb", *(case.cell for case in CASES))


@pytest.fixture(scope="module")
def verdict(notebook: Path) -> NotebookVerdict:
    environ = {**os.environ, "NBTF_SIMULATED_GPUS": "2xA100-40GB"}
    return wait_for(check(notebook, Plan(environ, 60, [ANNOUNCEMENT, *read_rules([BUILT_IN])])))


@pytest.mark.parametrize("number", range(len(CASES)), ids=[case.name for case in CASES])
def test_cell(number: int, verdict: NotebookVerdict) -> None:
    case, cell_verdict = CASES[number], verdict.cells[number]

    assert (cell_verdict.state, cell_verdict.lines) == (case.state, cell_verdict.lines)
    assert case.reason in "\n".join(cell_verdict.lines)
    assert bool(cell_verdict.lines) == case.state.is_wrong


def test_the_notebook_is_wrong_where_a_cell_is(verdict: NotebookVerdict) -> None:
    assert (verdict.is_wrong, verdict.unusable, verdict.status, verdict.problems) == (True, False, 1, [])


@pytest.mark.nightly
def test_what_nbval_says_is_as_the_table_has_it(notebook: Path, tmp_path: Path) -> None:
    report = tmp_path / "nbval.xml"
    command = [sys.executable, "-m", "pytest", "--nbval", "--nbval-current-env", f"--nbval-sanitize-with={BUILT_IN}"]
    options = [f"--rootdir={notebook.parent}", "-p", "no:cacheprovider", f"--junitxml={report}", str(notebook)]
    environ = {**os.environ, "NBTF_SIMULATED_GPUS": "2xA100-40GB"}

    subprocess.run([*command, *options], capture_output=True, cwd=notebook.parent, env=environ, check=False)

    accepted = [case.find("failure") is None for case in ElementTree.parse(report).iter("testcase")]
    expected = [not case.state.is_wrong if case.nbval is None else case.nbval for case in CASES]
    assert {case.name: said for case, said, ours in zip(CASES, accepted, expected, strict=True) if said != ours} == {}
