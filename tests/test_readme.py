"""The README tells the truth."""

from __future__ import annotations

import doctest
import importlib.util
import re
import tomllib
from pathlib import Path
from xml.etree import ElementTree

import pytest

import nbtf as tf
from nbtf import cli
from nbtf.notebook.stills.svg import to_svg

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
DOORS = README.split("## Three doors")[1].split("\n## ")[0]


def test_the_example_prints_what_it_says() -> None:
    code = README.split("```python\n")[1].split("```")[0]
    example = doctest.DocTestParser().get_doctest(code, {}, "README", "README.md", 0)
    said: list[str] = []

    failed, tried = doctest.DocTestRunner(verbose=False).run(example, out=said.append)

    assert (0, 6) == (failed, tried), "".join(said)


def test_every_function_it_names_is_there() -> None:
    named = set(re.findall(r"\b(?:tf|nbtf)\.runtime\.(\w+)\(", README))

    assert {"simulate_gpus", "recording", "explain_placement", "restart"} <= named
    assert [] == sorted(name for name in named if not callable(getattr(tf.runtime, name, None)))


def test_every_command_it_names_is_there() -> None:
    named = re.findall(r"(?:`|/bin/|=4 )nbtf (\w[^`\n]*)", README)

    assert {"lab", "site", "run", "predict", "devices", "top", "metrics", "doctor", "notebooks"} == {
        line.split()[0] for line in named
    }
    for line in named:
        cli._parser().parse_args(line.split())


def test_every_extra_it_names_is_there() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    named = {extra for extras_named in re.findall(r"\.\[([\w,]+)\]", README) for extra in extras_named.split(",")}

    assert {"lab", "site", "docs", "test", "cuda12", "bfloat16"} == named
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
    again = ElementTree.fromstring(to_svg(script.hero(script.recorded_map(), script.recorded_memory())))

    texts = [[text.text for text in each.iter("{http://www.w3.org/2000/svg}text")] for each in (picture, again)]
    assert texts[0] == texts[1]
    assert picture.get("aria-label") == again.get("aria-label")


@pytest.mark.parametrize("door", ["No install", "On your computer", "In the notebook you already have"])
def test_there_are_three_doors(door: str) -> None:
    assert f"**{door}" in DOORS
