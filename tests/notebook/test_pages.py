"""Do the pages of magics and of events say what there is, no more and no less, and do their examples print it?"""

from __future__ import annotations

import builtins
import doctest
import re
from pathlib import Path
from typing import get_args

import pytest

import nbtf as tf
from nbtf._runtime.placement import KINDS
from nbtf.notebook.holders import table
from nbtf.notebook.magics.export import FIELDS, SCHEMA
from tests.notebook.conftest import ENOUGH, Shell
from tests.notebook.magics.test_functions import TEXTS, function_name

GITHUB = Path(__file__).parents[2] / ".github"
MAGICS = (GITHUB / "MAGICS.md").read_text(encoding="utf-8")
EVENTS = (GITHUB / "EVENTS.md").read_text(encoding="utf-8")
README = (GITHUB.parent / "README.md").read_text(encoding="utf-8")
EVERYWHERE = {"seq", "time", "site", "node", "replica", "phase", "layer"}
"""Fields of all events."""

USED = ("%device", "%devices", "%placement_log", "%gpu_memory", "%%device", "%%placement", "%%gpu_memory", "%check")


def blocks(page: str, *, of_torch: bool = False) -> list[tuple[str, str]]:
    """Returns the code blocks without PyTorch, or with it, each with what it prints according to the page."""
    examples = re.findall(r"```python\n(.*?)```(?:\n\n```text\n(.*?)```)?", page, re.DOTALL)
    return [(code, said) for code, said in examples if ("torch." in code) == of_torch]


def test_all_examples_of_magics_print_what_the_page_says(bare: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "SECONDS", ENOUGH)  # a process of many tests has many objects
    tf.runtime.restart()
    for code, said in blocks(MAGICS):
        ran = bare.run(code)
        shown = str(ran.result) + "\n" if ran.result is not None else ran.out
        if ran.error is not None:
            shown = f"{type(ran.error).__name__}: {ran.error}\n"
        assert said.strip() == shown.strip(), code


@pytest.mark.parametrize("magic", USED)
def test_page_has_all_options_of_a_magic(magic: str, shell: Shell) -> None:
    help_text = shell.run(f"{magic} -h", *(["1"] if magic.startswith("%%") else [])).out
    options = set(re.findall(r"(?<![\w-])--?[a-z][a-z-]*", help_text)) - {"-h", "--help", "-n"}

    assert [] == sorted(option for option in options if f"`{option}" not in MAGICS)


def test_page_has_no_option_that_is_not_there(shell: Shell) -> None:
    there = "".join(shell.run(f"{magic} -h", *(["1"] if magic.startswith("%%") else [])).out for magic in USED)

    assert [] == [option for option in re.findall(r"`(--[a-z-]+)", MAGICS) if option not in there]


def test_readme_names_magics_and_options_that_are_there(shell: Shell) -> None:
    named = re.findall(r"[`\n](%%?\w+)([^`\n]*)", README)

    assert {"%load_ext", *USED} >= {magic for magic, _ in named} > {"%devices", "%gpu_memory"}
    for magic, options in named:
        assert [] == [option for option in re.findall(r"--[a-z-]+", options) if f"`{option}" not in MAGICS], magic


def test_page_has_all_words_of_the_placement_log(shell: Shell) -> None:
    words = re.search(r"\{(on,[\w,]+)\}", shell.run("%placement_log -h").out)

    assert words is not None
    assert [] == [word for word in words[1].split(",") if not re.search(rf"`{word}\b", MAGICS)]


def test_all_examples_of_events_print_what_the_page_says() -> None:
    tf.runtime.restart()
    said: list[str] = []
    example = doctest.DocTestParser().get_doctest(EVENTS.replace("```", ""), {}, "EVENTS", "EVENTS.md", 0)
    failed, tried = doctest.DocTestRunner(verbose=False).run(example, out=said.append)
    if hasattr(builtins, "_"):  # where it is left, IPython thinks of gettext, and keeps its hands off `_`
        delattr(builtins, "_")

    assert (0, True) == (failed, tried > 10), "".join(said)


@pytest.mark.parametrize("event", get_args(tf.runtime.Event), ids=lambda event: event.__name__)
def test_fields_of_an_event_are_those_of_the_page(event: type) -> None:
    row = re.search(rf"^\| `{event.__name__}` \|[^|]*\|([^|]*)\|$", EVENTS, re.MULTILINE)

    assert row is not None
    assert set(event._fields) - EVERYWHERE == set(re.findall(r"`(\w+)`", row[1]))
    assert set(event._fields) >= EVERYWHERE


def test_kinds_of_reasons_are_those_of_the_page() -> None:
    section = EVENTS.split("### Reasons")[1].split("`tf.runtime.in_words")[0]
    kinds = re.findall(r"^\| (`[^|]*`) \|", section, re.MULTILINE)

    assert set(KINDS) == set(re.findall(r"`([^`]+)`", " ".join(kinds)))


def test_fields_of_the_export_are_those_of_the_page() -> None:
    rows = re.findall(r"^\| `(\w+)` \|", EVENTS.split("## The export")[1], re.MULTILINE)

    assert sorted(FIELDS) == sorted(rows)
    assert f"`{SCHEMA}`" in EVENTS


def test_page_has_the_function_of_each_magic() -> None:
    table_rows = re.findall(r"^\| `(%+\w+)[^`]*` \| `(?:with |if )?tf\.notebook\.(\w+)\(", MAGICS, re.MULTILINE)

    assert {magic: function_name(magic) for magic in TEXTS} == dict(table_rows)
