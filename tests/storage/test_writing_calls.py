"""Does nothing but the storage layer open a file for writing, and would the check see it?"""

from __future__ import annotations

from pathlib import Path

import pytest

import nbtf
from tests.storage import writing_calls

WRITES = (
    "open(path, 'w')",
    "open(path, mode='ab')",
    "open(path, 'r+')",
    "io.open(path, 'x')",
    "open(path, mode)",
    "open(path, mode=mode)",
    "path.open('wb')",
    "path.open(mode='w')",
    "gzip.open(path, 'wt')",
    "os.fdopen(descriptor, 'w')",
    "io.FileIO(path, 'w')",
    "zipfile.ZipFile(path, 'w')",
    "zipfile.ZipFile(path, mode='a')",
    "tarfile.open(path, 'w:gz')",
    "path.write_text(text)",
    "(folder / 'name').write_bytes(content)",
    "path.touch()",
    "path.replace(target)",
    "(folder / 'name').rename(target)",
    "os.open(path, flags)",
    "os.replace(path, target)",
    "os.rename(path, target)",
    "from os import replace\nreplace(path, target)",
    "from os import replace as move\nmove(path, target)",
    "import os as system\nsystem.rename(path, target)",
    "import shutil\nshutil.copyfile(path, target)",
    "shutil.copy(path, target)",
    "shutil.move(path, target)",
    "shutil.copytree(path, target)",
    "tempfile.NamedTemporaryFile()",
    "tempfile.mkstemp()",
    "np.save(path, array)",
    "numpy.savez(path, array)",
    "np.savez_compressed(path, array)",
    "np.savetxt(path, array)",
    "array.tofile(path)",
    "figure.savefig(path)",
    "archive.extractall(folder)",
)
READS = (
    "open(path)",
    "open(path, 'rb')",
    "open(path, encoding='utf-8')",
    "path.open()",
    "path.open('rb')",
    "image.open(path)",
    "device.open()",
    "zipfile.ZipFile(path)",
    "archive.open(member)",
    "gzip.open(path, 'rb')",
    "text.replace('a', 'b')",
    "dataclasses.replace(record, name=value)",
    "replace(record, name=value)",
    "files.write(path, text)",
    "stream.write(text)",
    "tempfile.TemporaryDirectory()",
    "set.copy()",
    "path.read_text()",
)


@pytest.mark.parametrize("text", WRITES)
def test_what_writes_is_seen(text: str) -> None:
    assert len(list(writing_calls.writing_calls(text, "file.py"))) == 1


@pytest.mark.parametrize("text", READS)
def test_what_reads_is_let_be(text: str) -> None:
    assert not list(writing_calls.writing_calls(text, "file.py"))


def test_only_the_storage_layer_writes(capsys: pytest.CaptureFixture[str]) -> None:
    assert writing_calls.main(str(Path(nbtf.__file__).parent)) == 0, capsys.readouterr().out


def test_a_file_that_writes_fails_the_check(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "odd.py").write_text("open(path, 'w')\n")

    assert writing_calls.main(str(tmp_path)) == 1
    assert "odd.py:1: open writes" in capsys.readouterr().out
