"""Does a page break texts into lines where Python does?"""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from nbtf.notebook import catalogue
from nbtf.notebook.stills import esm, flow
from nbtf.notebook.stills.marks import Text

WORDS = [
    text for language in ("en", *catalogue.LANGUAGES) for text in catalogue.read(language)["memoryPicture"].values()
]
SAID = [text if isinstance(text, str) else text[1] for text in WORDS] + [
    "a",
    "",
    "x  y ",
    "前。後「計算」、 ok ー",
    "W" * 60,
]


@pytest.mark.parametrize("room", [40, 90, 300])
def test_page_breaks_lines_where_python_does(tmp_path: Path, room: int) -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("needs node; the browser tests compare whole pictures, too")
    program = esm.joined(esm.in_order("flow", "picture"))
    texts = f"{json.dumps(SAID)}.map((words) => text(0, 0, words, {{ size: 11 }}))"
    file = tmp_path / "lines.mjs"
    asked = f"[...flowed({texts}, 5, 5 + {room}, 30), {texts}.map((text) => linesOf(text, {room}))]"
    file.write_text(f"{program}\nconsole.log(JSON.stringify({asked}));\n", encoding="utf-8")

    marks, y, lines = json.loads(subprocess.run([node, str(file)], capture_output=True, text=True, check=True).stdout)

    still = [Text(0, 0, words, size=11) for words in SAID]
    expected, end = flow.flowed(still, 5, 5 + room, 30)
    assert [flow.lines_of(text, room) for text in still] == lines
    assert [(text.words, text.y, pytest.approx(text.x)) for text in expected] == [
        (m["words"], m["y"], m["x"]) for m in marks
    ]
    assert end == y
