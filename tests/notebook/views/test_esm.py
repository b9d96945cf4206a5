"""Do the modules of a view become one that a browser can load by itself?"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from nbtf.notebook.views import esm

STATIC = Path(esm.__file__).parents[1] / "static"
VIEWS = [("device_map", "deviceMap"), ("memory_view", "memoryView")]
DECLARED = re.compile(r"^(?:export\s+)?(?:async\s+)?(?:function\*?|class|const|let|var)\s+(\w+)", re.MULTILINE)


def test_top_level_names_differ_over_all_files() -> None:
    files = {file.name: DECLARED.findall(file.read_text(encoding="utf-8")) for file in STATIC.glob("*.js")}

    counted = Counter(name for names in files.values() for name in names)
    assert {} == {name: [file for file in files if name in files[file]] for name, n in counted.items() if n > 1}


@pytest.mark.parametrize(("name", "view"), VIEWS)
def test_every_module_comes_after_what_it_imports(name: str, view: str) -> None:
    order = esm.in_order(name)

    for number, module in enumerate(order):
        if module in esm.WITHOUT_FILE:  # it is made, and imports nothing
            continue
        imported = esm.IMPORT.findall((STATIC / f"{module}.js").read_text(encoding="utf-8"))
        assert set(imported) <= set(order[:number])
    assert (name, len(set(order))) == (order[-1], len(order))


@pytest.mark.parametrize(("name", "view"), VIEWS)
def test_one_module_is_left_that_needs_no_other(name: str, view: str) -> None:
    script = esm.script(name, view)

    left = re.findall(r"^[ \t]*(?:import|export)\b.*", script, re.MULTILINE)
    begin, draw = "initialize: ({ model }) => followStates(model)", f"render: (context) => frame(context, {view})"
    assert [f"export default {{ {begin}, {draw} }};"] == left
    assert {"frame", view} <= set(DECLARED.findall(script))


@pytest.mark.parametrize("file", sorted(STATIC.glob("*.js")), ids=lambda file: file.name)
def test_no_text_of_a_program_has_several_lines(file: Path) -> None:
    assert [] == [text for text in re.findall(r"`[^`]*`", file.read_text(encoding="utf-8")) if "\n" in text]


@pytest.mark.parametrize(("name", "view"), VIEWS)
def test_comments_and_indentation_are_left_out(name: str, view: str) -> None:
    lines = esm.script(name, view).splitlines()

    assert [f"// {module}.js" for module in esm.in_order(name)] == [line for line in lines if line.startswith("//")]
    assert [] == [line for line in lines if line.startswith((" ", "\t"))]


@pytest.mark.parametrize(("name", "view"), VIEWS)
def test_nothing_is_fetched_from_elsewhere(name: str, view: str) -> None:
    text = esm.script(name, view) + esm.style(name)

    allowed = "http://www.w3.org/"  # names of SVG, which nobody fetches
    assert [] == [url for url in re.findall(r"https?://[^\s\"')]+", text) if not url.startswith(allowed)]
    assert not re.search(r"\b(?:import\(|fetch\(|XMLHttpRequest|innerHTML|outerHTML|insertAdjacentHTML|@import)", text)


@pytest.mark.parametrize(("name", "view"), VIEWS)
def test_style_is_that_of_the_frame_and_of_the_view(name: str, view: str) -> None:
    style = esm.style(name)

    own = {"device_map": ".nbtf-map", "memory_view": ".nbtf-memory"}[name]
    assert 0 < style.index(".nbtf-head") < style.index(own)
    assert not re.search(r"/\*|^[ \t]|\n\n", style, re.MULTILINE)


def test_joining_is_done_once() -> None:
    assert esm.script(*VIEWS[0]) is esm.script(*VIEWS[0])


def test_modules_that_import_each_other_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    files = {"frame.js": "", "a.js": 'import { b } from "./b.js";\n', "b.js": 'import { a } from "./a.js";\n'}
    monkeypatch.setattr(esm, "_read", files.__getitem__)

    with pytest.raises(ValueError, match="a -> b -> a"):
        esm.in_order("a")


@pytest.mark.parametrize(("name", "view"), VIEWS)
def test_joined_module_is_valid(name: str, view: str, tmp_path: Path) -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("needs node; the browser tests load the module, too")
    file = tmp_path / "view.mjs"
    file.write_text(esm.script(name, view), encoding="utf-8")

    assert "" == subprocess.run([node, "--check", str(file)], capture_output=True, text=True).stderr
