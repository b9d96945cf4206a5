"""Is the built documentation complete: links, names with examples, languages, and no other host?"""

from __future__ import annotations

import inspect
import json
import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

import jsonschema
import pytest

import nbtf as tf
from nbtf.cli.variables import VARIABLES
from tests.docs.site_pages import Page, built_site, pages_of
from tests.docs.test_examples import DOCS, command_names

LANGUAGES = ("", "ja", "zh_CN")
NAMESPACES = ("runtime", "config", "notebook")

ALIAS = "tf.config.experimental.VirtualDeviceConfiguration"
WITHOUT = {"tf.runtime.version", "tf.runtime.Event", "tf.runtime.Site", ALIAS}
"""Values, and other names of something that has an example."""


@pytest.fixture(scope="module")
def site() -> Path:
    """The folder of the site."""
    return built_site()


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Page]:
    """Its pages."""
    return pages_of(site)


def is_outside(address: str) -> bool:
    return urlsplit(address).scheme in ("http", "https")


def broken(site: Path, pages: dict[Path, Page], page: Page, link: str) -> bool:
    """Tells whether a link inside the site leads to a missing file or element."""
    address = urlsplit(link)
    target = (page.path.parent / unquote(address.path)).resolve() if address.path else page.path
    if site / "try" in target.parents or target == site / "try":
        return not (site / "try").is_dir() or not target.exists()
    if not target.is_file():
        return True
    fragment = unquote(address.fragment)
    return bool(fragment) and target in pages and fragment not in pages[target].ids


def test_no_link_or_anchor_is_broken(site: Path, pages: dict[Path, Page]) -> None:
    links = [(page, link) for page in pages.values() for link in (*page.links, *page.shown)]
    inside = [
        (page, link) for page, link in links if not is_outside(link) and not link.startswith(("data:", "mailto:"))
    ]

    assert len(inside) > 1000
    assert [] == [f"{page.path.relative_to(site)}: {link}" for page, link in inside if broken(site, pages, page, link)]


def test_a_broken_link_is_noticed(site: Path, pages: dict[Path, Page]) -> None:
    page = pages[site / "index.html"]

    assert broken(site, pages, page, "no_such_page.html")
    assert broken(site, pages, page, "how_it_works.html#no-such-chapter")
    assert not broken(site, pages, page, "how_it_works.html#how-a-device-is-chosen")


def test_pages_show_nothing_of_another_host(pages: dict[Path, Page]) -> None:
    assert [] == [shown for page in pages.values() for shown in page.shown if is_outside(shown) or shown[:2] == "//"]


def test_every_outside_address_is_listed(pages: dict[Path, Page]) -> None:
    lines = (DOCS / "outside.txt").read_text(encoding="utf-8").splitlines()
    listed = {line for line in lines if line and not line.startswith("#")}
    linked = {link.partition("#")[0] for page in pages.values() for link in page.links if is_outside(link)}
    readme = re.findall(r"\]\((https?://[^)#\s]+)", (DOCS.parents[1] / "README.md").read_text(encoding="utf-8"))

    assert listed == linked | set(readme)


@pytest.mark.parametrize("language", LANGUAGES, ids=lambda language: language or "en")
def test_every_language_has_every_page(site: Path, pages: dict[Path, Page], language: str) -> None:
    english = {path.relative_to(site) for path in pages if path.relative_to(site).parts[0] not in LANGUAGES}
    here = {path.relative_to(site / language) for path in pages if path.is_relative_to(site / language)}

    assert len(english) > 25
    assert english <= here


def entry(page: str, name: str) -> str:
    """Returns the part of a page about a name, up to the next name."""
    start = page.index(f'id="{name}"')
    following = re.search(r'<dt class="sig sig-object py" id="(?!' + re.escape(name) + r"\.)", page[start + 1 :])
    return page[start : start + 1 + following.start() if following else len(page)]


def public_names() -> list[tuple[str, str]]:
    """Returns the names in the reference, each with its page, including those of classes that only group functions."""
    names: list[tuple[str, str]] = []
    for namespace in NAMESPACES:
        for name, value in public_members(getattr(tf, namespace)).items():
            inner = public_members(value) if inspect.isclass(value) and name.islower() else {}
            names += [(namespace, f"tf.{namespace}.{name}.{each}") for each in inner]
            names += [] if inner else [(namespace, f"tf.{namespace}.{name}")]
    return names


def public_members(owner: object) -> dict[str, object]:
    """Returns the public members of a module, or of a class that groups functions."""
    names = dir(owner) if inspect.ismodule(owner) else vars(owner)
    return {name: getattr(owner, name) for name in names if not name.startswith("_")}


def test_every_public_name_is_on_a_page(pages: dict[Path, Page], site: Path) -> None:
    ids = {each for path, page in pages.items() if path.parent == site / "reference" for each in page.ids}
    missing = [name for _, name in public_names() if name not in ids]

    assert len(public_names()) > 90
    assert [] == missing


@pytest.mark.parametrize("namespace", NAMESPACES)
def test_every_public_name_has_an_example_on_its_page(site: Path, namespace: str) -> None:
    paths = sorted((site / "reference").glob(f"{namespace}*.html"))
    text = "".join(path.read_text(encoding="utf-8") for path in paths)
    names = [name for page, name in public_names() if page == namespace and name not in WITHOUT]

    assert names
    assert [] == [name for name in names if "&gt;&gt;&gt;" not in entry(text, name)]


def test_every_command_and_variable_is_on_its_page(pages: dict[Path, Page], site: Path) -> None:
    from nbtf import cli

    commands, variables = (pages[site / "reference" / name].ids for name in ("commands.html", "variables.html"))

    assert [] == [name for name in command_names(cli._parser()) if name.replace(" ", "-") not in commands]
    assert [] == [variable.name for variable in VARIABLES if variable.name.lower().replace("_", "-") not in variables]


def test_code_that_the_reference_has_is_a_link(pages: dict[Path, Page], site: Path) -> None:
    links = pages[site / "guides" / "who_holds_my_memory.html"].links

    assert "../reference/runtime.html#tf.runtime.memory_map" in links
    assert "../reference/magic_options.html#line-gpu-memory" in links
    assert "../reference/commands.html#nbtf-top" in links


def test_old_addresses_of_guides_lead_to_the_new_ones(pages: dict[Path, Page], site: Path) -> None:
    assert ["../guides/out_of_memory.html"] == pages[site / "questions" / "out_of_memory.html"].links


def test_the_commands_page_has_each_command_once(site: Path) -> None:
    text = (site / "reference" / "commands.html").read_text(encoding="utf-8")
    headings = re.findall(
        r"<h2><code[^>]*><span class=\"pre\">nbtf</span> <span class=\"pre\">(.*?)</span></code>", text
    )

    assert len(headings) > 8
    assert len(set(headings)) == len(headings)


def test_tensorflow_names_are_listed(site: Path) -> None:
    text = (site / "reference" / "tensorflow_names.html").read_text(encoding="utf-8")

    assert "MirroredStrategy" in text
    assert "annotations" not in text


def test_every_lesson_shows_its_stored_outputs(site: Path) -> None:
    lessons = sorted((site / "lessons").glob("[0-9]*.html"))

    assert [path.stem for path in lessons] == [
        path.stem for path in sorted((DOCS.parents[1] / "notebooks").glob("*.ipynb"))
    ]
    assert [] == [path.name for path in lessons if "cell_output" not in path.read_text(encoding="utf-8")]


def test_schema_of_events_lies_beside_the_pages(site: Path) -> None:
    for language in LANGUAGES:
        schema = json.loads((site / language / "events.schema.json").read_text(encoding="utf-8"))
        jsonschema.Draft202012Validator.check_schema(schema)
