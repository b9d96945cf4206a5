"""Does a page measure texts and colour marks as Python does?"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from nbtf.notebook.stills import esm, glyphs, palette

WORDS = ["forward", "MatMul µs → ✓ …", "前向き「計算」", "反向传播, 3 ms", "🙂 ok", "\u1100\ufffd"]


def test_page_measures_texts_as_python_does(tmp_path: Path) -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("needs node; the browser tests compare whole pictures, too")
    program = esm.joined(esm.in_order("picture", "picture"))
    asked = f"{json.dumps(WORDS)}.map((one) => [widthOf(one, 12, 650), fitted(one, 30, 11, 400, true)])"
    file = tmp_path / "measures.mjs"
    file.write_text(f"{program}\nconsole.log(JSON.stringify({asked}));\n", encoding="utf-8")

    answers = json.loads(subprocess.run([node, str(file)], capture_output=True, text=True, check=True).stdout)

    for words, (width, part) in zip(WORDS, answers, strict=True):
        assert width == pytest.approx(glyphs.width_of(words, 12, 650))
        assert part == glyphs.fitted(words, 30, 11, 400, mono=True)


def test_every_token_is_a_property_of_pictures_with_both_of_its_colours() -> None:
    style = esm.joined_styles(["picture"])

    properties = re.findall(r"--nbtf-([\w-]+):light-dark\((#\w+),(#\w+)\)", style)
    assert properties == [(token, *colour) for token, colour in palette.TOKENS.items()]
