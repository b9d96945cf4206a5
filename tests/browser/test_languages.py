"""Do the views speak the language of the page, or the one that the environment asks for, and can they be read in it?"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nbtf.notebook import catalogue
from nbtf.notebook.views import esm
from tests.browser.lab import Lab
from tests.browser.saved import Saved
from tests.browser.test_saved import MAP, VIEWS, make_real, opened

START = """\
import os
os.environ["NBTF_LANG"] = "{}"
import nbtf as tf
_ = tf.runtime.simulate_gpus(2, model="Tesla K20m")
%load_ext nbtf"""
RAN = """\
with tf.device("/GPU:7"):
    a = tf.add([1.0], [2.0])"""

STATIC = Path(esm.__file__).parents[1] / "static"


@pytest.mark.parametrize(
    ("page", "asked", "lang", "says"),
    [
        ("zh-CN", "", "zh-CN", ["设备图", "请求 GPU:7\uff0c软放置", "GPU:7 在此不存在"]),
        ("fr-FR", "ja", "ja", ["デバイスマップ", "GPU:7 を要求、ソフト配置", "GPU:7 はここにはありません"]),
        ("ja", "en", "en", ["Device map", "asked for GPU:7, soft placement", "GPU:7 does not exist here"]),
    ],
)
def test_views_speak_as_the_page_or_the_environment_does(
    lab: Lab, page: str, asked: str, lang: str, says: list[str]
) -> None:
    lab.open(START.format(asked), "%devices --live --here", RAN)
    lab.page.evaluate("lang => document.documentElement.lang = lang", page)
    lab.run(0, 1, 2)
    lab.page.locator(f"{MAP}[lang='{lang}'] .nbtf-ghost").wait_for()

    texts = lab.page.locator(f"{MAP} .nbtf-picture text").all_text_contents()
    parts = [lab.page.locator(f"{MAP} {part}").last.inner_text() for part in (".nbtf-title", ".nbtf-ghost .nbtf-name")]
    assert says == [parts[0], *(text for text in texts if text == says[1]), parts[1]]


def test_saved_view_keeps_the_language_it_was_asked_for(lab: Lab, saved: Saved) -> None:
    opened(lab, saved.speaking("ja")).shut_down()
    lab.press(MAP, "進む")

    assert (
        lab.page.locator(f"{MAP} .nbtf-line")
        .inner_text()
        .startswith("ステップ 1: Fill を CPU:0 で実行: tf.device による指定 ·")
    )


@pytest.mark.parametrize("language", catalogue.LANGUAGES)
def test_every_text_can_be_read(lab: Lab, saved: Saved, language: str) -> None:
    opened(lab, saved.changed(make_real).speaking(language))

    found: list[str] = []
    for width in (1000, 700, 320):
        lab.page.set_viewport_size({"width": width, "height": 2400})
        for press in ("", ".nbtf-step", ".nbtf-doors .nbtf-door", ".nbtf-table-button", ".nbtf-table-button"):
            for view in VIEWS:
                for button in lab.page.locator(f"{view} {press}").all() if press else ():
                    button.click()
                lab.next_frame()
                found += [f"{width} {view} {press}: {text}" for text in lab.unreadable(view)]
                found += [f"{width} {view} {press}: too wide"] * (lab.overflow(view) > 0)
    found += [problem for view in VIEWS for problem in lab.axe(view)]

    assert [] == found


WHAT_PYTHON_TELLS = """async ([script, translation]) => {
    const url = URL.createObjectURL(new Blob([script], { type: "text/javascript" }));
    const { ENGLISH, WORDS, fill, translated, useWords } = await import(url);
    useWords(translation);
    const values = { detail: "GPU:7", cell: 4, line: 2, code: "a, line 3: b", file: "train.py", number: 5 };
    Object.assign(values, { bus: "0000:8a:00.0", why: "Not Supported" });
    return ["reasons", "places", "cards"].flatMap((section) => Object.keys(ENGLISH[section])
        .filter((key) => translated(section, fill(ENGLISH[section][key], values)) !== fill(WORDS[section][key], values))
        .map((key) => `${section} ${key}`));
}"""


@pytest.mark.parametrize("language", catalogue.LANGUAGES)
def test_what_python_tells_is_known_again(open_page: Callable[..., Any], language: str) -> None:
    sections = {"frame", "reasons", "places", "cards"}
    words = catalogue.module(sections) + esm.IMPORT.sub("", (STATIC / "words.js").read_text(encoding="utf-8"))
    page = open_page()
    page.goto("about:blank")
    wrong = page.evaluate(WHAT_PYTHON_TELLS, [words, catalogue.translation(language, sections)])
    page.close()

    assert [] == wrong
