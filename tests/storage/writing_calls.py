"""Lists the lines of a program that open a file for writing or rename one, which only the storage layer may do.

    python -m tests.storage.writing_calls nbtf

The exit status is 1 if `ALLOWED` has no reason for one of the lines.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

STORAGE = "nbtf/_storage/"

ALLOWED = {
    ("nbtf/cli/own_wheel.py", "ZipFile"): "writes a draft of the storage layer",
    ("nbtf/cli/own_wheel.py", "savez_compressed"): "into memory",
    ("nbtf/notebook/prediction/__main__.py", "fdopen"): "the pipe to the parent process",
    ("nbtf/_cluster/dask_process.py", "os.write"): "likewise",
    ("nbtf/_cluster/processes.py", "os.open"): "the null device",
}
"""File and call, with the reason why the call is allowed."""

_MODE = re.compile(r"[rwaxbtU+|:*a-z0-9]*")
_OPENERS = frozenset("open fdopen ZipFile PyZipFile TarFile FileIO GzipFile BZ2File LZMAFile".split())
_WRITERS = frozenset(
    "write_text write_bytes touch symlink_to hardlink_to copyfile copyfileobj copytree copy2 make_archive "
    "unpack_archive NamedTemporaryFile TemporaryFile SpooledTemporaryFile mkstemp mktemp savez savez_compressed "
    "savetxt memmap tofile open_memmap FileHandler extractall savefig to_csv to_json to_pickle imsave".split()
)
_OF_MODULES = {
    "os": frozenset("open write replace rename renames link symlink truncate mkfifo mknod sendfile".split()),
    "shutil": frozenset("copy move chown".split()),
    "np": frozenset(["save"]),
    "numpy": frozenset(["save"]),
    "sqlite3": frozenset(["connect"]),
    "shelve": frozenset(["open"]),
    "dbm": frozenset(["open"]),
}


class WritingCall(NamedTuple):
    """A call that writes: the file, the line, and an abbreviated call."""

    file: str
    line: int
    call: str


def writing_calls(text: str, file: str) -> Iterator[WritingCall]:
    """Yields the calls in a program text that open a file for writing, or replace one."""
    tree = ast.parse(text)
    modules = dict(imported_names(tree))
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            short = _written_by(node, modules)
            if short is not None:
                yield WritingCall(file, node.lineno, short)


def imported_names(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """Yields names from `from os import replace as move` and `import os as system`, with their original names."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level == 0:
            yield from ((alias.asname or alias.name, f"{node.module}.{alias.name}") for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from ((alias.asname, alias.name) for alias in node.names if alias.asname)


def _written_by(call: ast.Call, modules: dict[str, str]) -> str | None:
    owner, name = owner_and_name(call.func, modules)
    if name in _OF_MODULES.get(owner, ()):
        return f"{owner}.{name}"
    if name in _WRITERS:
        return name
    if name in _OPENERS:
        return _opened_by(call, owner, name)
    is_path = owner not in modules.values() and len(call.args) == 1 and not call.keywords
    if name in ("replace", "rename") and is_path and isinstance(call.func, ast.Attribute):
        return f"Path.{name}"
    return None


def owner_and_name(function: ast.expr, modules: dict[str, str]) -> tuple[str, str]:
    if isinstance(function, ast.Name):
        owner, _, name = modules.get(function.id, function.id).rpartition(".")
        return owner, name
    if isinstance(function, ast.Attribute):
        owner = ast.unparse(function.value)
        return modules.get(owner, owner), function.attr
    return "", ""


def _opened_by(call: ast.Call, owner: str, name: str) -> str | None:
    """Returns the abbreviated call, unless its mode only reads; a mode that is not a constant counts as writing."""
    positional = call.args if isinstance(call.func, ast.Attribute) and name == "open" else call.args[1:]
    modes = [*positional[:2], *(keyword.value for keyword in call.keywords if keyword.arg == "mode")]
    texts = [mode.value for mode in modes if isinstance(mode, ast.Constant) and isinstance(mode.value, str)]
    if any(_MODE.fullmatch(text) and set(text) & set("wax+") and len(text) <= 4 for text in texts):
        return name
    function = isinstance(call.func, ast.Name)
    if function and name in ("open", "fdopen") and modes and not texts:
        return f"{name}({', '.join(ast.unparse(argument) for argument in call.args)})"
    return None


def offences(folder: Path, root: Path) -> tuple[list[WritingCall], set[tuple[str, str]]]:
    """Returns the calls in a folder that are not allowed, and the allowed calls that do not exist."""
    calls = [call for path in sorted(folder.rglob("*.py")) for call in _calls_of(path, root)]
    outside = [call for call in calls if not call.file.startswith(STORAGE)]
    unused = set(ALLOWED) - {(call.file, call.call) for call in outside}
    return [call for call in outside if (call.file, call.call) not in ALLOWED], unused


def _calls_of(path: Path, root: Path) -> Iterable[WritingCall]:
    return writing_calls(path.read_text(encoding="utf-8"), path.relative_to(root).as_posix())


def main(folder: str) -> int:
    """Prints the calls that are not allowed; returns the exit status."""
    path = Path(folder).resolve()
    calls, unused = offences(path, path.parent)
    for call in calls:
        print(f"{call.file}:{call.line}: {call.call} writes a file. Use nbtf/_storage, so that no data is lost.")
    for file, call in sorted(unused):
        print(f"{file}: {call} is allowed in {Path(__file__).name} but does not exist")
    return 1 if calls or unused else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
