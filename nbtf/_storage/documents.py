"""JSON documents from untrusted sources: read within limits, and checked against a schema."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from typing import Any

from nbtf._storage.limits import DOCUMENT_BYTES, DOCUMENT_LEVELS, UnsavableError
from nbtf._storage.reading import open_bytes
from nbtf._storage.refusal import RefusedFileError, refusing

Schema = Any
"""A class; None; a tuple of alternative schemas; `[schema]` for a list; `[first, second]` for a list of that length;
`{str: schema}` for a dictionary; `{"name": schema}` for a dictionary with at least these entries, where a question mark
in `"name?"` makes an entry optional; `object` for anything. A `bool` does not count as an `int`."""


def parse_document(content: bytes | str, source: object, schema: Schema = object) -> Any:
    """Returns the content of a JSON text.

    Args:
      content: the text, or its bytes in UTF-8.
      source: the file that errors name.
      schema: the required form of the document.

    Raises:
      RefusedFileError: if it is too large or too deep, is not JSON, or does not match the schema.
    """
    with refusing(source):
        DOCUMENT_BYTES.check(len(content))
        text = content.decode("utf-8") if isinstance(content, bytes) else content
        document = json.loads(text)
        _check_depth(document)
    check(document, schema, source)
    return document


def as_document(
    value: Any, schema: Schema = object, default: Callable[[Any], Any] | None = None, indent: int | None = None
) -> bytes:
    """Returns plain data as JSON, after checking that `parse_document` can read it.

    Args:
      value: the content of the document.
      schema: the required form of the document.
      default: returns a JSON-compatible replacement for any other object.
      indent: number of spaces before each level; None writes one line.

    Raises:
      UnsavableError: if the document is too large or too deep, or does not match the schema.
      TypeError: if it contains an object that JSON cannot represent.
    """
    try:
        content = json.dumps(value, default=default, indent=indent).encode()
    except ValueError as error:  # a number of more than 4,300 digits, or a list that contains itself
        raise UnsavableError(f"it cannot be written as JSON: {error}.") from error
    try:
        parse_document(content, "the document", schema)
    except RefusedFileError as error:
        if isinstance(error.__cause__, UnsavableError):
            raise error.__cause__ from None  # the error about an exceeded limit contains advice
        raise UnsavableError(f"it could not be read back, since {error}") from error
    return content


def read_document(path: str | os.PathLike[str], schema: Schema = object) -> Any:
    """Returns the content of a JSON file; see `parse_document`.

    Raises:
      OSError: if the file cannot be opened.
      RefusedFileError: if it is too large or too deep, is not JSON, or does not match the schema.
    """
    with open_bytes(path) as file:
        return parse_document(file.read(DOCUMENT_BYTES.maximum + 1), os.fspath(path), schema)


def _check_depth(document: Any) -> None:
    level, depth = [document], 0
    while level:
        level = [entry for value in level for entry in _entries(value)]
        depth += 1
        DOCUMENT_LEVELS.check(depth)


def _entries(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()  # pyright: ignore[reportUnknownVariableType]
    return value if isinstance(value, list) else ()  # pyright: ignore[reportUnknownVariableType]


def check(value: Any, schema: Schema, source: object, path: str = "") -> None:
    """Checks a value against a schema.

    Args:
      value: plain data.
      schema: see `Schema`.
      source: the file that errors name.
      path: path of the value within the document.

    Raises:
      RefusedFileError: if the value or one inside it does not match.
    """
    if isinstance(schema, tuple):
        alternatives: tuple[Schema, ...] = schema  # pyright: ignore[reportUnknownVariableType]
        schema = next((choice for choice in alternatives if type(value) is _class_of(choice)), alternatives)
    if schema is object:
        return
    if isinstance(schema, tuple) or type(value) is not _class_of(schema):
        raise RefusedFileError(
            f"{source} is damaged: {path or 'the document'} is {_describe_value(value)}; expected "
            f"{_describe_schema(schema)}."
        )
    if isinstance(schema, list):
        _check_list(value, schema, source, path)  # pyright: ignore[reportUnknownArgumentType]
    elif isinstance(schema, dict):
        _check_entries(value, schema, source, path)  # pyright: ignore[reportUnknownArgumentType]


def _check_list(value: list[Any], schema: list[Schema], source: object, path: str) -> None:
    if len(schema) > 1 and len(schema) != len(value):
        raise RefusedFileError(f"{source} is damaged: {path} has {len(value)} entries; expected {len(schema)}.")
    for number, entry in enumerate(value):
        check(entry, schema[number if len(schema) > 1 else 0], source, f"{path}[{number}]")


def _check_entries(value: dict[str, Any], schema: dict[Any, Schema], source: object, path: str) -> None:
    if str in schema:
        for name, entry in value.items():
            check(entry, schema[str], source, f"{path}.{name:.40}")
        return
    for marked, of_entry in schema.items():
        name: str = marked.removesuffix("?")
        if name not in value and name != marked:
            continue
        if name not in value:
            raise RefusedFileError(f"{source} is damaged: {path or 'the document'} has no {name!r}.")
        check(value[name], of_entry, source, f"{path}.{name}" if path else name)


def _class_of(schema: Schema) -> Any:
    collection = next((form for form in (list, dict) if isinstance(schema, form)), None)
    return type(None) if schema is None else collection or schema  # pyright: ignore[reportUnknownVariableType]


def _describe_schema(schema: Schema) -> str:
    if isinstance(schema, tuple):
        return " or ".join(_describe_schema(choice) for choice in schema)  # pyright: ignore[reportUnknownVariableType]
    return "null" if schema is None else _class_of(schema).__name__


def _describe_value(value: Any) -> str:
    return "a list" if isinstance(value, list) else "a dictionary" if isinstance(value, dict) else f"{value!r:.60}"
