"""Does anything that reads a file open a FIFO, a device or a socket? And does the error say what the file is?"""

from __future__ import annotations

import itertools
import os
import sys
from pathlib import Path

import pytest

import nbtf
from nbtf._storage import reading
from tests.storage import reading_calls
from tests.storage.savers import CommandFailedError
from tests.storage.special_files import (
    READERS,
    SPECIAL_FILES,
    FileReader,
    OpeningGuard,
    SpecialFileOpenedError,
    replace,
)

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no special files in folders")

every_reader = pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.name)
SLOW = ("run", "check", "check of a folder", "record", "predict", "rules")
"""These start a kernel, once they have read the notebook."""

OTHER_WORDS = ("were saved", "is a link", "not a valid checkpoint", "has no", "no pyproject.toml")
"""What is said of a path that is no regular file where something else is compared first."""

UNNAMED = {"folder", "dangling link"}
"""These need no word of what they are: the system's own error says it, and some readers take them for nothing saved."""


@pytest.fixture(scope="session")
def guard() -> OpeningGuard:
    return OpeningGuard()  # one for all tests: nothing takes an audit hook away


@pytest.mark.parametrize(
    "reader", [reader for reader in READERS if reader.name not in SLOW], ids=lambda reader: reader.name
)
def test_a_regular_file_is_read(reader: FileReader, tmp_path: Path) -> None:
    reader.prepare(tmp_path)
    link_in_place_of(tmp_path / reader.file)

    if "part" not in reader.name:  # what is in a generation is never a link
        reader.read(tmp_path)


def link_in_place_of(path: Path) -> None:
    """Moves a file away, and puts a link to it in its place."""
    if path.exists():
        path.rename(path.with_name("moved"))
        path.symlink_to("moved")


@pytest.mark.parametrize("special_file", SPECIAL_FILES)
@every_reader
def test_a_special_file_is_not_opened(
    reader: FileReader, special_file: str, guard: OpeningGuard, tmp_path: Path
) -> None:
    reader.prepare(tmp_path)
    path = replace(tmp_path / reader.file, special_file)
    text = ""
    with guard.over(tmp_path):
        try:
            reader.read(tmp_path)
        except (Exception, CommandFailedError) as error:
            text = str(error)

    if special_file not in UNNAMED:
        assert path.stem in text
        assert any(words in text for words in (special_file, *OTHER_WORDS)), text


def test_the_guard_notices_an_opened_fifo(guard: OpeningGuard, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")

    with guard.over(tmp_path), pytest.raises(SpecialFileOpenedError):
        os.open(tmp_path / "fifo", os.O_RDONLY | os.O_NONBLOCK)


def test_a_path_that_becomes_a_fifo_after_the_first_look_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "file").touch()
    regular = os.stat(tmp_path / "file")
    monkeypatch.setattr(os, "stat", lambda path: regular)

    with pytest.raises(OSError, match="It is a FIFO; expected a regular file"):
        reading.read_bytes(tmp_path / "fifo")


@pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux's")
def test_a_file_without_an_end_is_refused() -> None:
    with pytest.raises(OSError, match="more than 1,048,576 bytes"):
        reading.read_bytes("/proc/self/pagemap")


def test_a_text_has_line_feeds_alone(tmp_path: Path) -> None:
    (tmp_path / "text").write_bytes(b"a\r\nb\rc\n")

    assert reading.read_text(tmp_path / "text") == (tmp_path / "text").read_text()


def test_nothing_in_nbtf_opens_files_past_the_one_place(capsys: pytest.CaptureFixture[str]) -> None:
    assert reading_calls.main(str(Path(nbtf.__file__).parent)) == 0, capsys.readouterr().out


@pytest.mark.parametrize(
    "line",
    [
        "open(path)",
        "open(path, 'rb')",
        "path.open()",
        "Path(path).read_text()",
        "os.open(path, 0)",
        "np.load(path)",
        "np.fromfile(path)",
        "gzip.open(path)",
        "from os import open as look; look(path, 0)",
        "zipfile.is_zipfile(path)",
        "nbformat.read(path, 4)",
        "linecache.getlines(path)",
    ],
)
def test_a_line_that_reads_a_file_fails_the_check(line: str, tmp_path: Path) -> None:
    (tmp_path / "odd.py").write_text(f"import os, numpy as np\n{line}\n")

    assert reading_calls.main(str(tmp_path)) == 1


def test_what_reads_through_the_one_place_passes() -> None:
    lines = ["from nbtf._storage.reading import open_bytes, read_text", "read_text(path)", "open_bytes(path).read()"]

    assert list(reading_calls.reading_calls("\n".join(lines), "odd.py")) == []


def test_the_tables_have_no_row_twice() -> None:
    names = [reader.name for reader in READERS]

    assert all(first != second for first, second in itertools.pairwise(sorted(names)))
