"""Lists the lines of a program that open a file for reading, which only `nbtf/_storage/reading.py` may do.

    python -m tests.storage.reading_calls nbtf

That module accepts regular files only. The exit status is 1 if `ALLOWED` has no reason for one of the lines.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from tests.storage.writing_calls import imported_names, owner_and_name

_OWN = "reads a file of the installed package"
_SYSTEM = "reads a fixed file of the system"
_NO_FILE = "opens no file"
_SOURCE = "reads the source of a function that Python has loaded"

ALLOWED = {
    ("nbtf/_storage/reading.py", "open"): "the module that opens files",
    ("nbtf/_storage/reading.py", "os.open"): "the module that opens files",
    ("nbtf/_storage/archives.py", "zipfile.ZipFile"): "gets an open file",
    ("nbtf/_storage/packing.py", "zipfile.ZipFile"): "writes a draft",
    ("nbtf/_storage/drafts.py", "os.open"): "opens a folder or a draft, to lock it",
    ("nbtf/_storage/files.py", "os.open"): "opens a draft for writing",
    ("nbtf/_storage/files.py", "open"): "writes to a device or a FIFO that the user has chosen",
    ("nbtf/_storage/files.py", "io.FileIO"): "opens a draft or the end of a log, for writing",
    ("nbtf/_storage/files.py", "shutil.copyfileobj"): "gets open files",
    ("nbtf/keras/saving/models.py", "zipfile.is_zipfile"): "gets an open file",
    ("nbtf/_frameworks/torch/prediction/host.py", "mmap.mmap"): "maps memory",
    ("nbtf/_storage/opened_file.py", "open"): "opens for writing",
    ("nbtf/_storage/databases.py", "sqlite3.connect"): "holds a copy in memory",
    ("nbtf/_storage/records.py", "gzip.GzipFile"): "gets an open file",
    ("nbtf/_traces/json_stream.py", "gzip.GzipFile"): "gets an open file",
    ("nbtf/_cluster/processes.py", "os.open"): "opens the null device for writing",
    ("nbtf/keras/datasets/fashion_mnist.py", "gzip.open"): "gets an open file",
    ("nbtf/cli/checking/pictures.py", "open"): "gets bytes",
    ("nbtf/_ops/image/decoding.py", "library.open"): "gets bytes",
    ("nbtf/cli/own_wheel.py", "zipfile.ZipFile"): "writes a draft",
    ("nbtf/_install.py", "open"): _OWN,
    ("nbtf/cli/own_wheel.py", "path.read_bytes"): _OWN,
    ("nbtf/_public.py", "open"): _OWN,
    ("nbtf/_cluster/look.py", "file.read_text"): _OWN,
    ("nbtf/_own_files.py", "read_text"): _OWN,
    ("nbtf/notebook/stills/esm.py", "read_text"): _OWN,
    ("nbtf/_devices/host_memory.py", "open"): _SYSTEM,
    ("nbtf/_devices/processes.py", "open"): _SYSTEM,
    ("nbtf/cli/real_gpus.py", "file.read_text"): _SYSTEM,
    ("nbtf/notebook/views/processor.py", "open"): _SYSTEM,
    ("nbtf/notebook/prediction/__main__.py", "os.fdopen"): "the pipe to the parent process",
    ("nbtf/_graph/autograph/conversion.py", "linecache.getlines"): _SOURCE,
    ("nbtf/_graph/autograph/user_code.py", "linecache.getline"): _SOURCE,
    ("nbtf/notebook/code_lines.py", "linecache.getline"): _SOURCE,
    ("nbtf/_frameworks/torch/operands.py", "linecache.getlines"): _SOURCE,
    ("nbtf/cli/checking/budgets.py", "linecache.getlines"): _SOURCE,
    ("nbtf/cli/view.py", "webbrowser.open"): _NO_FILE,
    ("nbtf/_devices/cuda/copying.py", "target.open"): _NO_FILE,
    ("nbtf/_devices/cuda/copying.py", "source.open"): _NO_FILE,
    ("nbtf/_devices/cuda/device.py", "self.open"): _NO_FILE,
    ("nbtf/_cluster/in_process.py", "process.host.open"): _NO_FILE,
    ("nbtf/_cluster/controller.py", "channel.open"): _NO_FILE,
}
"""File and call, with the reason why the call is allowed."""

_READERS = frozenset(
    "open open_code fdopen FileIO ZipFile PyZipFile TarFile is_zipfile is_tarfile GzipFile BZ2File LZMAFile "
    "fromfile loadtxt genfromtxt memmap open_memmap getline getlines run_path fileinput copyfile copyfileobj copytree "
    "copy2 imread NpzFile mmap read_csv read_table read_json".split()
)
_METHODS = frozenset(["read_text", "read_bytes"])
_OF_MODULES = {
    "np": frozenset(["load"]),
    "numpy": frozenset(["load"]),
    "nbformat": frozenset(["read"]),
    "os": frozenset(["open", "fdopen", "sendfile", "mkfifo"]),
    "shutil": frozenset(["copy"]),
    "sqlite3": frozenset(["connect"]),
    "h5py": frozenset(["File"]),
}
_ANY = re.compile(rf"\b({'|'.join(sorted({*_READERS, *_METHODS, *chain(*_OF_MODULES.values())}))})\b")
"""Matches every program text that can read a file; parsing all other texts would take seconds."""

_OPENED = frozenset(["self.archive", "archive"])
"""Objects that are already open: a zip archive opens its members."""


class ReadingCall(NamedTuple):
    """A call that reads: the file, the line, and the called function."""

    file: str
    line: int
    call: str


def reading_calls(text: str, file: str) -> Iterator[ReadingCall]:
    """Yields the calls in a program text that open a file for reading."""
    if not _ANY.search(text):
        return
    tree = ast.parse(text)
    modules = dict(imported_names(tree))
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            call = _read_by(node, modules)
            if call is not None:
                yield ReadingCall(file, node.lineno, call)


def _read_by(call: ast.Call, modules: dict[str, str]) -> str | None:
    owner, name = owner_and_name(call.func, modules)
    is_own = owner == "nbtf._storage.reading"
    is_reader = name in _READERS or name in _OF_MODULES.get(owner, ())
    is_method = name in _METHODS and isinstance(call.func, ast.Attribute)
    if is_own or owner in _OPENED or not (is_reader or is_method):
        return None
    is_short = owner and owner.replace(".", "").replace("_", "").isalnum()
    return f"{owner}.{name}" if is_short else name


def offences(folder: Path, root: Path) -> tuple[list[ReadingCall], set[tuple[str, str]]]:
    """Returns the calls in a folder that are not allowed, and the allowed calls that do not exist."""
    calls = [
        call
        for path in sorted(folder.rglob("*.py"))
        for call in reading_calls(path.read_text(encoding="utf-8"), path.relative_to(root).as_posix())
    ]
    unused = set(ALLOWED) - {(call.file, call.call) for call in calls}
    return [call for call in calls if (call.file, call.call) not in ALLOWED], unused


def main(folder: str) -> int:
    """Prints the calls that are not allowed; returns the exit status."""
    path = Path(folder).resolve()
    calls, unused = offences(path, path.parent)
    for call in calls:
        print(f"{call.file}:{call.line}: {call.call} reads a file. Use nbtf/_storage/reading.py instead.")
    for file, name in sorted(unused):
        print(f"{file}: {name} is allowed in {Path(__file__).name} but does not exist")
    return 1 if calls or unused else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
