"""The README tells the truth."""

from __future__ import annotations

import doctest
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from xml.etree import ElementTree

import pytest

import nbtf as tf
from nbtf import cli
from nbtf.notebook.stills.svg import to_svg
from tests.shells import interactive_shell

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_example_prints_what_it_says() -> None:
    code = README.split("```python\n")[1].split("```")[0]
    example = doctest.DocTestParser().get_doctest(code, {}, "README", "README.md", 0)
    said: list[str] = []

    failed, tried = doctest.DocTestRunner(verbose=False).run(example, out=said.append)

    assert (0, 6) == (failed, tried), "".join(said)


def test_every_function_it_names_is_there() -> None:
    named = set(re.findall(r"\b(?:tf|nbtf)\.runtime\.(\w+)\(", README))

    assert {"simulate_gpus", "simulate_cluster", "recording", "explain_placement", "memory_map"} <= named
    assert [] == sorted(name for name in named if not callable(getattr(tf.runtime, name, None)))


def test_every_command_it_names_is_there() -> None:
    named = re.findall(r"(?:`|/bin/|=4 )nbtf ([a-z][^`\n]*)", README)

    assert sorted("lab site run predict view explain devices top metrics doctor".split()) == sorted(
        {line.split()[0] for line in named}
    )
    for line in named:
        cli._parser().parse_args(line.split())


def test_every_extra_it_names_is_there() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    named = {extra for extras_named in re.findall(r"\.\[([\w,]+)\]", README) for extra in extras_named.split(",")}

    assert {"lab", "site", "docs", "test", "cuda12", "keras", "bfloat16"} == named
    assert named < set(extras)


def test_every_page_it_links_to_is_there() -> None:
    links = [link for link in re.findall(r"\]\(([^)]+)\)", README) if not link.startswith("https://")]

    assert {".github/MAGICS.md", ".github/EVENTS.md", ".github/hero.svg", ".github/live_view.png"} <= set(links)
    assert [] == [link for link in links if not (ROOT / link).is_file()]


def test_its_picture_comes_first_and_says_what_it_shows() -> None:
    first = README.split("\n\n")[1]

    assert first.startswith("![")
    assert len(first.partition("](")[0]) > 100


def test_its_first_picture_has_the_figures_of_real_runs() -> None:
    path = ROOT / ".github" / "hero.py"
    spec = importlib.util.spec_from_file_location("hero", path)
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)

    picture = ElementTree.fromstring(path.with_suffix(".svg").read_text(encoding="utf-8"))
    again = ElementTree.fromstring(to_svg(script.hero(script.recorded_map(), script.recorded_memory()), narrow=False))

    texts = [[text.text for text in each.iter("{http://www.w3.org/2000/svg}text")] for each in (picture, again)]
    assert texts[0] == texts[1]
    assert picture.get("aria-label") == again.get("aria-label")


def shown_commands(readme: str) -> list[str]:
    """Returns the lines of the table *In a shell*, and those that set a variable first."""
    return re.findall(r"`((?:NBTF_\w+=\S+ )?nbtf [a-z][^`\n]*)`", readme)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the notebook and the folder of notebooks that the README's commands name."""
    cell = {
        "cell_type": "code",
        "execution_count": 1,
        "id": "a",
        "metadata": {},
        "outputs": [{"name": "stdout", "output_type": "stream", "text": ["3\n"]}],
        "source": "import tensorflow as tf\nprint(len(tf.config.list_logical_devices('GPU')) - 1)",
    }
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    notebook = json.dumps({"cells": [cell], "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5})
    (tmp_path / "NOTEBOOK.ipynb").write_text(notebook, encoding="utf-8")
    (tmp_path / "FOLDER").mkdir()
    quiet = notebook.replace("import tensorflow as tf", "import nbtf as tf").replace("('GPU')) - 1", "('CPU')) + 2")
    (tmp_path / "FOLDER" / "notebook.ipynb").write_text(quiet, encoding="utf-8")
    shutil.copy(ROOT / "tests" / "snapshots" / "samples" / "protocol_4.pickle", tmp_path / "snapshot.pickle")
    (tmp_path / "train.log").write_text("RuntimeError: CUDA error: invalid device ordinal\n", encoding="utf-8")
    return tmp_path


NEED_A_CARD = ("nbtf top", "nbtf metrics")
"""Commands that fail on a machine without cards."""

EXIT_STATUS = {"nbtf doctor": (0, 1)}
"""`nbtf doctor` ends with 1 where it has found a fault of the computer."""

OWN_TESTS = {
    "nbtf lab --language ja": "tests/browser/test_lab.py",
    "nbtf site": "the section `site` of .ci/run",
    "nbtf predict NOTEBOOK.ipynb --gpus 1xA100-40GB": "tests/frameworks, which have PyTorch",
    "nbtf run NOTEBOOK.ipynb --compare": "tests/frameworks/tensorflow, which have TensorFlow",
}
"""Commands that open a browser, fetch packages or need PyTorch or TensorFlow, and what tries them."""


@pytest.mark.parametrize("line", sorted({*shown_commands(README)} - OWN_TESTS.keys()))
def test_a_command_it_shows_runs(line: str, folder: Path) -> None:
    *settings, _, rest = re.split(r"(nbtf )", line, maxsplit=1)
    variables = dict(setting.split("=", 1) for setting in "".join(settings).split())
    cards = {"NBTF_SIMULATED_GPUS": "2"} if line in NEED_A_CARD else {}

    ended = subprocess.run(
        [sys.executable, "-m", "nbtf", *rest.split()],
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, **cards, **variables, "PYTHONPATH": str(ROOT), "BROWSER": "true"},
        timeout=300,
    )

    assert ended.returncode in EXIT_STATUS.get(line, (0,)), ended.stdout + ended.stderr
    assert ended.stdout


def test_its_magics_run(tmp_path: Path) -> None:
    magics = re.findall(r"`(%{1,2}[^`]+)`", README.split("In a notebook, after")[1].split("In a shell")[0])
    product = "with tf.device('GPU:1'):\n    product = tf.matmul(tf.ones((2, 2)), tf.ones((2, 2)))\ndel product"

    assert {"%devices", "%%device", "%gpu_memory", "%%placement", "%%gpu_memory"} <= {
        line.split()[0] for line in magics
    }
    with interactive_shell(tmp_path) as shell:
        start = "import nbtf as tf\ntf.runtime.simulate_gpus(4, model='Tesla K20m')\n%load_ext nbtf"
        for cell in [start, *(f"{line}\n{product}" if line.startswith("%%") else line for line in magics)]:
            shell.run_cell(cell).raise_error()
        shell.run_line_magic("unload_ext", "nbtf")
