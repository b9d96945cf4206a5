"""The state file of a folder, which names the latest checkpoint in it."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from nbtf._storage import files
from nbtf._storage.archives import inside
from nbtf._storage.documents import Schema, check, parse_document
from nbtf._storage.limits import DOCUMENT_BYTES, UnsavableError, saving
from nbtf._storage.messages.field_types import DOUBLE, STRING
from nbtf._storage.messages.message import Fields, Message
from nbtf._storage.reading import open_bytes
from nbtf._storage.refusal import RefusedFileError, refusing

STATE = "checkpoint"
"""The file in each folder that names the latest checkpoint."""


@dataclass(frozen=True, slots=True)
class FolderState:
    """The contents of a folder's state file, with full paths.

    `times` are the times when the checkpoints were saved. `preserved` is the time of the last checkpoint that is never
    deleted. Both are in seconds since 1970, like `time.time`.
    """

    latest: str
    paths: list[str]
    times: list[float]
    preserved: float


_SECONDS: Schema = (float, int)
_SCHEMA: Schema = {
    "model_checkpoint_path": str,
    "all_model_checkpoint_paths": [str],
    "all_model_checkpoint_timestamps?": [_SECONDS],
    "last_preserved_timestamp?": _SECONDS,
}


class _State(Message):
    FIELDS: ClassVar[Fields] = {
        "model_checkpoint_path": (1, STRING),
        "all_model_checkpoint_paths": (2, [STRING]),
        "all_model_checkpoint_timestamps": (3, [DOUBLE]),
        "last_preserved_timestamp": (4, DOUBLE),
    }


_FIELD = re.compile(rb'\s*(\w+)\s*:\s*(?:"((?:[^"\\\n]|\\.)*)"|([-+.\w]+))[ \t]*[,;]?\s*')
"""A field of a state file in text form: its name, and a text or a number."""

_ESCAPE = re.compile(rb"\\([0-7]{1,3}|.)", re.DOTALL)
_ESCAPED = {b"n": b"\n", b"r": b"\r", b"t": b"\t"}


def read_state(folder: str | os.PathLike[str], file_name: str | None = None) -> FolderState | None:
    """Returns the state of the checkpoints in a folder, or None if the folder has no state file.

    The file is a message in text form, as in TensorFlow, or JSON if an older nbtf wrote it.

    Raises:
      RefusedFileError: if the file is damaged, or names checkpoints outside the folder.
      OSError: if the file is not a regular file, such as a FIFO or a device.
    """
    directory = os.fspath(folder)
    file = os.path.join(directory, file_name or STATE)
    try:
        with open_bytes(file) as stream:
            content = stream.read(DOCUMENT_BYTES.maximum + 1)
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError, PermissionError):
        return None
    is_message = _FIELD.match(content) is not None
    state = _parse_message(content, directory, file) if is_message else parse_document(content, file, _SCHEMA)
    names: list[str] = [state["model_checkpoint_path"], *state["all_model_checkpoint_paths"]]
    for name in names:
        inside(directory, name, file)
    latest, *paths = [os.path.join(directory, name) for name in names]
    times = [float(seconds) for seconds in state.get("all_model_checkpoint_timestamps", [])]
    return FolderState(latest, paths, times, float(state.get("last_preserved_timestamp", 0.0)))


def _parse_message(content: bytes, directory: str, source: str) -> dict[str, Any]:
    """Returns the state in a `CheckpointState` in text form.

    Source: TensorFlow, `tensorflow/python/training/checkpoint_state.proto`; Protocol Buffers, Text Format.
    """
    state: dict[str, Any] = {"all_model_checkpoint_paths": [], "all_model_checkpoint_timestamps": []}
    end = 0
    with refusing(source):
        DOCUMENT_BYTES.check(len(content))
        while end < len(content):
            match = _FIELD.match(content, end)
            if match is None:
                line = content[end:].partition(b"\n")[0]
                raise ValueError(f"it contains {line!r:.60}; expected a name, a colon, and a text or a number.")
            end = match.end()
            name, text, number = match.groups()
            value = float(number) if text is None else _inside(_unescaped(text).decode(), directory)
            field = name.decode()
            if isinstance(state.get(field), list):
                state[field].append(value)
            else:
                state[field] = value
    check(state, _SCHEMA, source)
    return state


def _unescaped(text: bytes) -> bytes:
    """Returns a text with its escape sequences replaced."""
    return _ESCAPE.sub(lambda match: _ESCAPED.get(match[1]) or _character(match[1]), text)


def _character(escape: bytes) -> bytes:
    return bytes([int(escape, 8) & 0xFF]) if escape[:1].isdigit() else escape


def _inside(path: str, directory: str) -> str:
    """Returns the name of a file whose absolute path is in the folder; other paths unchanged."""
    folder, name = os.path.split(path)
    return name if os.path.isabs(path) and os.path.realpath(folder) == os.path.realpath(directory) else path


def note_latest(
    prefix: str,
    checkpoints: Sequence[str],
    file_name: str = STATE,
    times: Sequence[float] = (),
    preserved: float = 0.0,
) -> None:
    """Writes a folder's state file: the latest checkpoint, all checkpoints, and when they were saved.

    Raises:
      UnsavableError: if the folder has too many checkpoints.
      OSError: if the file cannot be written.
    """
    path = Path(prefix)
    state = _State(
        model_checkpoint_path=path.name,
        all_model_checkpoint_paths=[Path(checkpoint).name for checkpoint in checkpoints],
        all_model_checkpoint_timestamps=times,
        last_preserved_timestamp=preserved,
    )
    content = str(state).encode()
    with saving(path.parent / file_name):
        DOCUMENT_BYTES.check(len(content))
    files.write(path.parent / file_name, content)


def check_prefix(prefix: str | os.PathLike[str]) -> None:
    """Checks that the name of a checkpoint can be stored in the state file, before anything is written.

    Raises:
      UnsavableError: if the name cannot be read again.
    """
    path = Path(prefix)
    with saving(path):
        try:
            inside(path.parent, path.name, STATE)
        except RefusedFileError as error:
            raise UnsavableError(str(error), "Choose another name.") from None
