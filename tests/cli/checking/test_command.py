"""Does `nbtf notebooks check` run each notebook once, tell what differs, and write only what was asked for?"""

from __future__ import annotations

import contextlib
import errno
import io
import os
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

import nbformat
import pytest

from nbtf import cli
from nbtf._storage import files
from nbtf.cli import notebook_file
from nbtf.cli.checking import last_failed
from tests.cli.checking.cells import cell, error, png, result, save, shown, stream

PLOT = "%matplotlib inline\nimport matplotlib.pyplot as plt\nplt.ylim(0, 6)\nplt.plot([1, 2, {}])\nplt.show()"


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))


def nbtf(*words: object) -> tuple[int, str]:
    """Runs `nbtf notebooks` and returns the status, and what was said on both streams."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        status = cli.main(["notebooks", *map(str, words)])
    return status, said.getvalue()


class Checked(NamedTuple):
    """What a check of a folder said and left behind."""

    folder: Path
    status: int
    said: str
    before: dict[str, bytes]

    def lines_of(self, name: str) -> str:
        """What was said of one notebook."""
        _, _, rest = self.said.partition(f"{name}.ipynb: ")
        return rest.split(".ipynb: ")[0]


def note(name: str) -> Any:
    """A cell that leaves a line in a file, so that runs can be counted."""
    return cell(f"with open('../runs.txt', 'a') as runs:\n    print('{name}', file=runs)")


NOTEBOOKS = {
    "a_slow": [note("a"), cell("import time\ntime.sleep(0.5)\n'late'", result("'late'"))],
    "b_wrong": [
        note("b"),
        cell("print('\\x1b[31mred')", stream("green\n")),
        cell("print('<&>]]>', chr(7))", stream("1\n")),
    ],
    "c_dead": [note("c"), cell("import os\nos._exit(1)"), cell("1", result("1"))],
    "d_endless": [note("d"), cell("while True: pass"), cell("1", result("1"))],
    "e_true": [note("e"), cell("print(1)", stream("1\n")), cell("1 / 0", tags=("nbval-skip",))],
}


@pytest.fixture(scope="module")
def checked(tmp_path_factory: pytest.TempPathFactory) -> Checked:
    folder = tmp_path_factory.mktemp("checked")
    for name, cells in NOTEBOOKS.items():
        save(folder / "notebooks" / f"{name}.ipynb", *cells)
    (folder / "notebooks" / "f_no_notebook.ipynb").write_text("{}")
    before = {path.name: path.read_bytes() for path in (folder / "notebooks").iterdir()}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        patch.setenv("GITHUB_WORKSPACE", str(folder))
        reports = ("--junit", folder / "out" / "junit.xml", "--report", folder / "report", "--github")
        status, said = nbtf("check", folder / "notebooks", "-j2", "--timeout", 3, *reports)
    return Checked(folder, status, said, before)


@pytest.mark.nightly
def test_notebooks_are_told_in_their_order(checked: Checked) -> None:
    lines = [line for line in checked.said.split("\n") if line.startswith(str(checked.folder))]

    assert [line.partition("notebooks/")[2] for line in lines] == [
        "a_slow.ipynb: as recorded",
        "b_wrong.ipynb: differs",
        "c_dead.ipynb: differs",
        "d_endless.ipynb: differs",
        "e_true.ipynb: as recorded",
        "f_no_notebook.ipynb: cannot be checked",
    ]


def test_each_notebook_ran_once(checked: Checked) -> None:
    runs = (checked.folder / "runs.txt").read_text().split()

    assert sorted(runs) == ["a", "b", "c", "d", "e"]


def test_a_wrong_output_is_shown(checked: Checked) -> None:
    assert "cell 2 differs: print('\\x1b[31mred')\n    stdout:\n    - green\n    + \\x1b[31mred\n" in checked.lines_of(
        "b_wrong"
    )


def test_a_kernel_that_dies_is_told_and_what_it_did_not_reach(checked: Checked) -> None:
    assert "cell 2 failed: import os\n    KernelDiedError: the kernel died" in checked.lines_of("c_dead")
    assert "1 cell after it not reached" in checked.lines_of("c_dead")


def test_a_cell_that_takes_too_long_is_ended(checked: Checked) -> None:
    assert "cell 2 failed: while True: pass\n    TimeoutError: stopped after 3 s" in checked.lines_of("d_endless")


def test_a_file_that_is_no_notebook_is_told_and_sets_the_status(checked: Checked) -> None:
    assert "f_no_notebook.ipynb is not a notebook" in checked.said
    assert checked.status == 2


def test_the_last_line_counts(checked: Checked) -> None:
    last = [line for line in checked.said.split("\n") if not line.startswith("::") and line][-1]

    assert last == (
        "6 notebooks, 4 not as recorded; cells: 7 as recorded, 1 skipped, 2 differ, 2 failed, 2 not reached"
    )


def test_no_escape_code_is_printed(checked: Checked) -> None:
    assert "\x1b" not in checked.said


def test_nothing_is_overwritten(checked: Checked) -> None:
    assert checked.before == {path.name: path.read_bytes() for path in (checked.folder / "notebooks").iterdir()}


def test_junit_has_a_case_for_each_cell(checked: Checked) -> None:
    root = ElementTree.parse(checked.folder / "out" / "junit.xml").getroot()

    suites = {Path(suite.get("name", "")).stem: suite for suite in root}
    assert [root.get(name) for name in ("tests", "failures", "errors", "skipped")] == ["15", "6", "1", "1"]
    assert list(suites) == [*NOTEBOOKS, "f_no_notebook"]
    names = [case.get("name") for case in suites["b_wrong"]]
    assert names == [each.id for each in notebook_file.read(checked.folder / "notebooks/b_wrong.ipynb").cells]
    shown = {each.get("name"): each.get("value") for each in suites["c_dead"][1].iter("property")}
    assert shown == {"cell": "2", "code": "import os"}
    assert [failure.text for failure in suites["b_wrong"].iter("failure")] == [
        "stdout:\n- green\n+ \\x1b[31mred",
        "stdout:\n- 1\n+ <&>]]> \\x07",
    ]


def test_github_shows_what_differs_beside_its_cell(checked: Checked) -> None:
    commands = [line for line in checked.said.split("\n") if line.startswith("::")]

    assert [line.partition(",title=")[0] for line in commands] == [
        "::error file=notebooks/b_wrong.ipynb,line=15",
        "::error file=notebooks/b_wrong.ipynb,line=33",
        "::error file=notebooks/c_dead.ipynb,line=15",
        "::error file=notebooks/d_endless.ipynb,line=15",
        "::error file=notebooks/f_no_notebook.ipynb,line=1",
    ]
    assert commands[0].endswith("title=cell 2 differs%3A print('\\x1b[31mred')::stdout:%0A- green%0A+ \\x1b[31mred")


def test_the_report_has_the_executed_notebooks_and_a_page(checked: Checked) -> None:
    report = checked.folder / "report"

    executed = nbformat.read(report / "b_wrong.ipynb", as_version=4)
    page = (report / "index.html").read_text(encoding="utf-8")
    assert {path.name for path in report.iterdir()} == {"index.html", *(f"{name}.ipynb" for name in NOTEBOOKS)}
    assert executed.cells[1].outputs[0].text == "\x1b[31mred\n"
    assert '<span class="was">- green</span>' in page
    assert "&lt;&amp;&gt;" in page
    assert "<script" not in page


def test_what_failed_is_remembered_outside_of_the_project(checked: Checked) -> None:
    failed = last_failed.failed_last(checked.folder / "cache" / "nbtf" / last_failed.NAME)

    assert {Path(path).stem for path in failed} == {"b_wrong", "c_dead", "d_endless", "f_no_notebook"}


# What was recorded is accepted, and what is changed in it is not


def test_a_plot_is_as_recorded_and_another_plot_is_not(tmp_path: Path) -> None:
    path = save(tmp_path / "plots.ipynb", cell(PLOT.format(3)), cell(PLOT.format(3)), cell(PLOT.format(5)))
    nbtf("record", path)
    notebook = nbformat.read(path, as_version=4)
    notebook.cells[1].outputs = notebook.cells[2].outputs
    nbformat.write(notebook, path)

    status, said = nbtf("check", path)

    assert status == 1
    assert "cell 2 differs" in said
    assert "image/png: the picture looks different: " in said
    assert "cells: 2 as recorded, 1 differ" in said


@pytest.fixture
def stale(tmp_path: Path) -> Path:
    return save(
        tmp_path / "stale.ipynb",
        cell("print(1)", stream("0\n")),
        cell("# NBVAL_IGNORE_OUTPUT\nprint(2)", stream("0\n")),
        cell("3", result("3")),
    )


def test_update_writes_the_cells_that_differ_and_then_they_are_as_recorded(stale: Path) -> None:
    status, said = nbtf("check", stale, "--update")

    outputs = [code.outputs[0] for code in nbformat.read(stale, as_version=4).cells]
    assert (status, "as recorded; 1 cell updated" in said) == (0, True)
    assert [output.get("text", "") for output in outputs] == ["1\n", "0\n", ""]


def test_what_is_not_for_this_kernel_is_skipped_and_no_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    save(
        tmp_path / "a_r.ipynb",
        cell("1 + 1", result("2")),
        kernelspec={"name": "ir", "display_name": "R", "language": "R"},
    )
    save(tmp_path / "b_julia.ipynb", cell("1 + 1", result("2")), language_info={"name": "julia"})
    skip = "import unittest\nraise unittest.SkipTest('no card')"
    save(tmp_path / "c_skips.ipynb", cell("1", result("1")), cell(skip), cell("2", result("3")))

    status, said = nbtf("check", ".", "--junit", "junit.xml")

    assert (status, said.splitlines()) == (
        0,
        [
            "a_r.ipynb: skipped: needs R",
            "b_julia.ipynb: skipped: needs Julia",
            "c_skips.ipynb: skipped: cell 2 raised SkipTest: no card",
            "3 notebooks, 3 skipped; cells: 1 as recorded, 2 skipped",
        ],
    )
    root = ElementTree.parse(tmp_path / "junit.xml").getroot()
    assert [root.get(name) for name in ("tests", "failures", "errors", "skipped")] == ["5", "0", "0", "4"]


def test_a_cell_that_differs_before_it_skips_the_rest_is_wrong(tmp_path: Path) -> None:
    skip = "import unittest\nraise unittest.SkipTest"
    path = save(tmp_path / "a.ipynb", cell("1", result("2")), cell(skip), cell("2", result("3")))

    status, said = nbtf("check", path)

    assert status == 1
    assert "a.ipynb: differs" in said


def test_the_first_wrong_notebook_ends_the_check_on_request(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a", "c"):
        save(tmp_path / f"{name}.ipynb", cell("1", result("1")))
    save(tmp_path / "b.ipynb", cell("1", result("2")))

    status, said = nbtf("check", ".", "-x")

    assert status == 1
    assert "c.ipynb" not in said
    last = "2 notebooks, 1 not as recorded, 1 not checked (--fail-fast); cells: 1 as recorded, 1 differ"
    assert said.splitlines()[-1] == last


@pytest.mark.nightly
def test_values_of_a_kind_vary_where_it_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    save(tmp_path / "a.ipynb", cell("print('took 3.2 s')", stream("took 9.9 s\n")))
    note = "  cell 1: 1 value not compared (times)"

    assert nbtf("check", "a.ipynb")[0] == 1
    assert nbtf("check", "a.ipynb", "--vary", "ids,times")[1].splitlines()[:2] == ["a.ipynb: as recorded", note]
    (tmp_path / "pyproject.toml").write_text('[tool.nbtf.check]\nvary = ["times"]\nexclude = ["b*"]\n')
    save(tmp_path / "b.ipynb", cell("1", result("2")))
    status, said = nbtf("check", ".")
    assert (status, said.splitlines()[:3]) == (0, ["left out: 1 notebook excluded", "a.ipynb: as recorded", note])
    assert nbtf("check", ".", "--strict")[0] == 1


def test_a_kernel_that_is_not_installed_is_named(tmp_path: Path) -> None:
    path = save(tmp_path / "a.ipynb", cell("1", result("1")))

    status, said = nbtf("check", path, "--kernel", "no-such-kernel")

    assert status == 2
    assert "no kernel is named 'no-such-kernel'. Installed kernels: " in said


@pytest.mark.parametrize("option", ["--update", "--junit=out/junit.xml", "--report=out"])
def test_a_full_disk_is_told_and_nothing_is_overwritten(
    stale: Path, option: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = stale.read_bytes()

    def refuse(path: Any, content: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))

    monkeypatch.chdir(stale.parent)
    monkeypatch.setattr(files, "write", refuse)
    monkeypatch.setattr(notebook_file.files, "write", refuse)
    status, said = nbtf("check", stale, option)

    assert (status, stale.read_bytes()) == (2, before)
    assert "No space left on device" in said
    assert "stale.ipynb: differs" in said


def test_a_notebook_with_a_cell_that_failed_is_not_updated(tmp_path: Path) -> None:
    path = save(tmp_path / "a.ipynb", cell("print(1)", stream("0\n")), cell("1 / 0"))
    before = path.read_bytes()

    assert (nbtf("check", path, "--update")[0], path.read_bytes()) == (1, before)


def test_only_what_failed_last_runs_again(tmp_path: Path) -> None:
    for name in ("a", "b"):
        save(tmp_path / "notebooks" / f"{name}.ipynb", note(name), cell("1", result("1" if name == "a" else "2")))

    nbtf("check", tmp_path / "notebooks")
    _, said = nbtf("check", tmp_path / "notebooks", "--lf")

    assert (tmp_path / "runs.txt").read_text().split() == ["a", "b", "b"]
    assert said.count(".ipynb: ") == 1


def test_tensorflow_notebooks_run_on_nbtf(tmp_path: Path) -> None:
    path = save(
        tmp_path / "guide.ipynb",
        cell("!pip install tensorflow\nimport tensorflow as tf\ntf.__name__", result("'nbtf'")),
        cell("len(tf.config.list_physical_devices('GPU'))", result("3")),
        cell("tf.no_such_name", error("AttributeError", "")),
        cell("tf.no_such_name"),
    )

    status, said = nbtf("check", path, "--redirect", "tensorflow", "--gpus", "3xA100-40GB")

    assert status == 1
    assert "cell 1: left out: !pip install tensorflow" in said
    assert "cell 4 failed: tf.no_such_name\n    tf.no_such_name is not in nbtf yet" in said


def test_limits_of_the_notebook_and_of_the_file_hold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "pyproject.toml").write_text(
        "[tool.nbtf.check]\ngpus = '2'\nlax = true\n"
        "[tool.nbtf.check.limits.'far*']\nno_copies = true\ntolerance = 1e-3\n"
    )
    path = save(
        tmp_path / "far.ipynb",
        cell("import nbtf as tf\na = tf.ones([2**20])\nprint(1)", stream("2\n")),
        cell("with tf.device('GPU:1'):\n    b = a + 1.0"),
        cell("# NBVAL_CHECK_OUTPUT\n0.50001", result("0.5")),
        nbtf={"limits": {"at_most": "2MiB"}},
    )
    monkeypatch.chdir(tmp_path)

    status, said = nbtf("check", path)

    assert status == 1
    assert "all cells: placement is not as expected (- expected, + seen)\n  - no copies\n  + 1 copy from GPU:0" in said
    assert "cell 2, line 2: b = a + 1.0" in said
    assert "memory is not as expected (- expected, + seen)\n  - GPU:0 (simulated): peak at most 2 MiB" in said
    assert "cells: 1 as recorded, 2 ran, not compared" in said


# What is refused before a kernel starts


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--jobs=0"], "expected a number of notebooks or 'auto', got '0'"),
        (["--timeout=soon"], "expected a number of seconds, got 'soon'"),
        (["--gpus=many"], "'many'; expected a number of GPUs such as 4"),
        (["--gpus=4xNoSuchCard"], "Unknown card 'NoSuchCard'"),
        (["--tolerance=-1"], "expected a number, 0 or more, got '-1'"),
        (["--pictures=some"], "expected a number, 0 or more, got 'some'"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_an_option_that_cannot_be_is_refused(
    words: list[str], said: str, stale: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(["notebooks", "check", str(stale), *words])

    assert (ended.value.code, said in " ".join(capsys.readouterr().err.split())) == (2, True)


def test_a_report_over_the_notebooks_is_refused(stale: Path) -> None:
    status, said = nbtf("check", stale, "--report", stale.parent)

    assert (status, "would overwrite" in said) == (2, True)


def test_a_mark_that_cannot_be_understood_is_told(tmp_path: Path) -> None:
    path = save(tmp_path / "a.ipynb", cell("1"), cell("2", tags=("nbtf-tolerence=1",)))

    status, said = nbtf("check", path)

    assert (status, "a.ipynb: cannot be checked\n  cell 2: unknown mark nbtf-tolerence" in said) == (2, True)


def test_pictures_stand_side_by_side_in_the_page(tmp_path: Path) -> None:
    source = "import base64\nfrom IPython.display import Image\nImage(base64.b64decode('{}'))"
    text = "<IPython.core.display.Image object>"
    picture = cell(source.format(png()), shown(text_plain=text, image_png=png((0, 0, 0))))

    nbtf("check", save(tmp_path / "a.ipynb", picture), "--report", tmp_path / "out")

    page = (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    pictures = [f'alt="{word}" src="data:image/png;base64,' for word in ("recorded", "now")]
    assert [pictures[0] + png((0, 0, 0)) in page, pictures[1] + png() in page] == [True, True]


def test_notebook_with_nothing_to_compare_does_not_pass_for_a_true_one(tmp_path: Path) -> None:
    unrecorded = cell("print(1)")
    unrecorded["execution_count"] = None
    path = save(tmp_path / "bare.ipynb", unrecorded, cell("# NBVAL_SKIP\n1/0"))

    status, said = nbtf("check", path)

    assert (0, True) == (status, "bare.ipynb: ran; no recorded outputs to compare with" in said)
    assert "1 notebook, 1 with nothing to compare; cells: 1 ran, not compared, 1 skipped" in said


def test_record_leaves_out_what_a_check_leaves_out(tmp_path: Path) -> None:
    path = save(tmp_path / "partly.ipynb", cell("print(1)"), cell("# NBVAL_SKIP\n1/0"))

    assert 0 == nbtf("record", path)[0]
    assert (0, True) == ((said := nbtf("check", path))[0], "partly.ipynb: as recorded" in said[1])
