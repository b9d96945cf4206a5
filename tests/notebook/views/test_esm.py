"""Do the modules of a view become one that a browser can load by itself?"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from nbtf.notebook.stills import esm, glyphs, measures

STATIC = Path(esm.__file__).parents[1] / "static"
VIEWS = [("device_map", "deviceMap"), ("memory_view", "memoryView")]
DECLARED = re.compile(r"^(?:export\s+)?(?:async\s+)?(?:function\*?|class|const|let|var)\s+(\w+)", re.MULTILINE)


EXPORTED = re.compile(r"^export\s+(?:async\s+)?(?:function\*?|class|const|let)\s+(\w+)", re.MULTILINE)
IMPORTED = re.compile(r'^import\s+\{([^}]*)\}\s+from\s+"\./(\w+)\.js"', re.MULTILINE)


def modules() -> dict[str, str]:
    """The text of every module, with those that have no file."""
    files = {file.stem: file.read_text(encoding="utf-8") for file in STATIC.glob("*.js")}
    return files | {"catalogue": "export const ENGLISH", "letters": glyphs.module(), "measures": measures.module()}


def test_top_level_names_differ_over_all_modules() -> None:
    files = {name: DECLARED.findall(text) for name, text in modules().items()}

    counted = Counter(name for names in files.values() for name in names)
    assert {} == {name: [file for file in files if name in files[file]] for name, n in counted.items() if n > 1}


def test_every_imported_name_is_exported_by_its_module_and_used() -> None:
    exported = {name: set(EXPORTED.findall(text)) for name, text in modules().items()}

    for importer, text in modules().items():
        body = IMPORTED.sub("", text)
        for names, module in IMPORTED.findall(text):
            names = re.findall(r"\w+", names)
            assert set(names) <= exported[module], importer
            unused = {name for name in names if not re.search(rf"\b{name}\b", body)}
            assert unused <= {"followStates"}, importer  # the end of a widget's program uses it


def test_measures_have_exactly_the_members_that_modules_use() -> None:
    groups = {name: set(json.loads(text)) for name, text in re.findall(r"const (\w+) = (.*);", measures.module())}
    used: dict[str, set[str]] = {group: set() for group in groups}
    for text in modules().values():
        for names in (names for names, module in IMPORTED.findall(text) if module == "measures"):
            for group in re.findall(r"\w+", names):
                used[group] |= set(re.findall(rf"\b{group}\.(\w+)", text))

    assert groups == used


def test_no_two_constants_have_the_same_name_in_a_group_of_measures() -> None:
    for group, members in measures._GROUPS.items():
        names = [measures._in_page(name) for text in members.values() for name in text.split()]
        assert len(names) == len(set(names)), group


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
