"""Do the views speak the language of the page, or the one that the environment asks for, and can they be read in it?"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from nbtf.notebook import catalogue
from nbtf.notebook.stills import esm
from tests.browser.lab import Lab
from tests.browser.saved import Saved
from tests.browser.test_saved import MAP, VIEWS, make_real, opened
from tests.rings import with_nightly

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
    with_nightly(
        [
            ("fr-FR", "ja", "ja", ["デバイスマップ", "GPU:7 を要求、ソフト配置", "GPU:7 は存在しません"]),
        ],
        [
            ("zh-CN", "", "zh-CN", ["设备图", "请求 GPU:7\uff0c软放置", "GPU:7 不存在"]),
            ("ja", "en", "en", ["Device map", "asked for GPU:7, soft placement", "GPU:7 does not exist"]),
        ],
    ),
)
def test_views_speak_as_the_page_or_the_environment_does(
    lab: Lab, page: str, asked: str, lang: str, says: list[str]
) -> None:
    lab.open(START.format(asked), "%devices --live --here", RAN, afresh=True)
    lab.speak(page)
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
        .startswith("ステップ 1：Fill を CPU:0 で実行：tf.device による指定 ·")  # noqa: RUF001
    )


@pytest.mark.nightly
@pytest.mark.parametrize("language", with_nightly(["ja"], sorted({*catalogue.LANGUAGES} - {"ja"})))
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


@pytest.fixture
def words_page(open_page: Callable[..., Any]) -> Iterator[Any]:
    """A page without anything, in which the words of the views can be asked."""
    page = open_page()
    page.goto("about:blank")
    yield page
    page.close()


def words_script(*sections: str) -> str:
    """The module of the words, with these sections in English."""
    return catalogue.module({*sections}) + esm.IMPORT.sub("", (STATIC / "words.js").read_text(encoding="utf-8"))


@pytest.mark.parametrize("language", catalogue.LANGUAGES)
def test_what_python_tells_is_known_again(words_page: Any, language: str) -> None:
    sections = ("frame", "reasons", "places", "cards")
    translation = catalogue.translation(language, {*sections})

    assert [] == words_page.evaluate(WHAT_PYTHON_TELLS, [words_script(*sections), translation])


FILLED = """async ([script, texts, values]) => {
    const url = URL.createObjectURL(new Blob([script], { type: "text/javascript" }));
    const { fill } = await import(url);
    return values.map((each) => texts.map((text) => fill(text, each)));
}"""


def test_page_counts_as_stills_do(words_page: Any) -> None:
    english = {name: section for name, section in catalogue.read("en").items() if name != "terms"}
    texts = [text for _, leaf in catalogue.leaves(english) for text in ([leaf] if isinstance(leaf, str) else leaf)]
    names = {name for text in texts for name in re.findall(r"\{(\w+)\}", text)}
    values: list[dict[str, int | str]] = [dict.fromkeys(names, value) for value in (0, 1, 2, 1234, "1", "[s]{n}")]

    filled = words_page.evaluate(FILLED, [words_script("frame"), texts, values])

    assert [[catalogue.filled(text, **each) for text in texts] for each in values] == filled
    assert {"1 op", "1 copy", "1 measured op or copy is not on this time axis"} <= set(filled[1])
