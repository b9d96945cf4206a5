"""Is a document compared with its schema, and is what is too deep or too large refused?"""

from __future__ import annotations

from typing import Any

import pytest

from nbtf._storage import limits
from nbtf._storage.documents import parse_document
from nbtf._storage.refusal import RefusedFileError

SCHEMA = {
    "name": str,
    "sizes": [(int, None)],
    "pair": [str, object],
    "by_name": {str: float},
    "more?": int,
    "less?": int,
}
GOOD = '{"name": "a", "sizes": [1, null], "pair": ["x", [{}]], "by_name": {"x": 0.5}, "more": 1}'


def test_a_document_that_fits_is_returned() -> None:
    assert parse_document(GOOD, "f.json", SCHEMA) == {
        "name": "a",
        "sizes": [1, None],
        "pair": ["x", [{}]],
        "by_name": {"x": 0.5},
        "more": 1,
    }


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ('"a"', "3", "name is 3; expected str"),
        ("[1, null]", "[1, true]", r"sizes\[1\] is True; expected int or null"),
        ("[1, null]", "{}", "sizes is a dictionary; expected list"),
        ('["x", [{}]]', '["x"]', "pair has 1 entries; expected 2"),
        ("0.5", '"y"', r"by_name\.x is 'y'; expected float"),
        ('"name"', '"title"', "the document has no 'name'"),
        (GOOD, "[]", "the document is a list; expected dict"),
        ('"more": 1', '"more": null', "more is None; expected int"),
        ("1}", "1", "Expecting ',' delimiter"),
    ],
    ids=["scalar", "choice", "list", "pair", "entry", "missing", "whole", "optional", "cut"],
)
def test_what_does_not_fit_is_named(before: str, after: str, message: str) -> None:
    with pytest.raises(RefusedFileError, match=f"f.json is damaged: {message}"):
        parse_document(GOOD.replace(before, after), "f.json", SCHEMA)


@pytest.mark.parametrize("levels", [201, 5_000, 200_000])
@pytest.mark.parametrize("pair", ["[]", '{"a":}'])
def test_what_is_too_deep_is_refused(levels: int, pair: str) -> None:
    text = pair[:-1] * levels + "1" + pair[-1] * levels

    with pytest.raises(RefusedFileError, match=r"201 levels|recursion"):
        parse_document(text, "f.json")


def test_what_is_too_large_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits.DOCUMENT_BYTES, "maximum", 10)

    with pytest.raises(RefusedFileError, match="11 bytes of JSON; the limit is 10"):
        parse_document(b"[1, 2, 3, 4", "f.json")


def test_64_mebibytes_are_read_and_no_more() -> None:
    content = b"1".ljust(64 << 20)

    assert parse_document(content, "f.json") == 1
    with pytest.raises(RefusedFileError, match="67,108,865 bytes of JSON; the limit is 67,108,864"):
        parse_document(content + b" ", "f.json")


def test_long_names_and_values_are_cut_in_what_is_said() -> None:
    with pytest.raises(RefusedFileError, match=rf"by_name\.{'x' * 40} is '{'y' * 59}; expected float"):
        parse_document(GOOD.replace('{"x": 0.5}', f'{{"{"x" * 41}": "{"y" * 60}"}}'), "f.json", SCHEMA)


@pytest.mark.parametrize("content", [b"\xff", b"", "9" * 10_000], ids=["bytes", "nothing", "digits"])
def test_what_is_no_json_is_refused(content: Any) -> None:
    with pytest.raises(RefusedFileError, match=r"f\.json is damaged"):
        parse_document(content, "f.json")
