"""How is a notebook's text translated? Through gettext catalogues, which this module keeps up to date."""

from __future__ import annotations

import copy
import io
from pathlib import Path
from typing import Any, NamedTuple

from babel.messages.catalog import Catalog
from babel.messages.pofile import read_po, write_po

from nbtf._storage import files
from nbtf._storage.limits import CATALOGUE_BYTES, UnsavableError, saving
from nbtf._storage.reading import open_bytes
from nbtf._storage.refusal import RefusedFileError, refusing
from nbtf.cli.command_error import CommandError, reading
from nbtf.cli.languages import answers_translated, pieces

_SAYS_NOTHING = (
    '"POT-Creation-Date: ',
    '"PO-Revision-Date: ',
    '"Generated-By: ',
    '"Last-Translator: ',
    '"Project-Id-Version: ',
    '"Report-Msgid-Bugs-To: ',
    '"Language-Team: ',
)
"""Lines of a catalogue that change with the date or the program, or contain no information."""

_HEADER = "# The texts of a notebook in another language. `nbtf notebooks translate` adds missing ones."


class Missing(NamedTuple):
    """The gaps in a catalogue: texts without a translation, and texts whose original has changed since."""

    untranslated: list[str]
    stale: list[str]


def template(notebook: Any) -> Catalog:
    """Returns the texts of a notebook, without translations."""
    catalogue = Catalog(charset="utf-8", fuzzy=False)
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            for piece, is_text in pieces(cell.source):
                if is_text:
                    catalogue.add(piece)
    return catalogue


def updated(path: Path, notebook: Any, language: str) -> Catalog:
    """Returns the catalogue at a path, updated with the notebook's current texts.

    A text whose original has changed keeps its translation, marked for review (fuzzy).
    """
    now = template(notebook)
    earlier = read(path) if path.exists() else Catalog(language, header_comment=_HEADER, charset="utf-8", fuzzy=False)
    earlier.update(now, no_fuzzy_matching=False, update_header_comment=False)
    return earlier


def read(path: Path) -> Catalog:
    """Returns the catalogue at a path.

    Raises:
      CommandError: if it cannot be read, or is not a catalogue in UTF-8.
    """
    with reading(path), open_bytes(path) as file:
        content = file.read(CATALOGUE_BYTES.maximum + 1)
    try:
        with refusing(path):
            CATALOGUE_BYTES.check(len(content))
            catalogue = read_po(io.StringIO(content.decode("utf-8")), abort_invalid=True)
    except RefusedFileError as error:
        raise CommandError(f"{path} is not a catalogue: {error.__cause__}") from error
    if catalogue.charset not in ("utf-8", "utf8"):  # the file must not decide which codec is looked up
        raise CommandError(f"{path} declares the charset {catalogue.charset!r}; catalogues must be in UTF-8")
    return catalogue


def write(path: Path, catalogue: Catalog) -> None:
    """Writes a catalogue; the result does not depend on the date or the program's version.

    Raises:
      CommandError: if it is too large to be read again; an existing catalogue is not changed.
    """
    stream = io.BytesIO()
    write_po(stream, catalogue, width=0, ignore_obsolete=True)
    lines = stream.getvalue().decode().split("\n")
    content = "\n".join(line for line in lines if not line.startswith(_SAYS_NOTHING)).encode()
    try:
        with saving(path):
            CATALOGUE_BYTES.check(len(content))
    except UnsavableError as error:
        raise CommandError(str(error)) from None
    files.make_folder(path.parent)
    files.write(path, content)


def missing(catalogue: Catalog, notebook: Any) -> Missing:
    """Returns what a catalogue lacks for the current notebook."""
    texts = [str(message.id) for message in template(notebook) if message.id]
    translations = [(text, catalogue.get(text)) for text in texts]
    return Missing(
        [text for text, message in translations if message is None or not message.string],
        [text for text, message in translations if message is not None and message.string and message.fuzzy],
    )


def translated(notebook: Any, catalogue: Catalog, language: str) -> Any:
    """Returns a notebook with text cells and answers of checks in another language, and all else from the original."""
    copied = copy.deepcopy(notebook)
    copied.metadata.setdefault("nbtf", {})["language"] = language.replace("_", "-")
    answers_translated(copied, language)
    for cell in copied.cells:
        if cell.cell_type == "markdown":
            texts = [_in_words(catalogue, piece) if is_text else piece for piece, is_text in pieces(cell.source)]
            cell.source = "".join(texts)
    return copied


def _in_words(catalogue: Catalog, text: str) -> str:
    message = catalogue.get(text)
    return str(message.string) if message is not None and message.string else text
