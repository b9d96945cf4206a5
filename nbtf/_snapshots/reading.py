"""What is in a snapshot file? Its form is recognised by its content, never by its name."""

from __future__ import annotations

import os
from dataclasses import replace

from nbtf._snapshots.contents import SnapshotBuilder
from nbtf._snapshots.json_text import add_json
from nbtf._snapshots.other_files import describe_other
from nbtf._snapshots.pickled import read_pickled
from nbtf._snapshots.snapshot import MemorySnapshot
from nbtf._storage import gzipped
from nbtf._storage.reading import StrPath, path_text, read_bytes
from nbtf._storage.refusal import RefusedFileError

_DATABASE = b"SQLite format 3\0"
_PICKLES = (*(b"\x80%c" % protocol for protocol in range(2, 256)), b"(", b"}", b"]")
"""The first bytes of pickles: protocols from 2 on, and lists and dictionaries of protocols 0 and 1."""


def open_snapshot(path: StrPath) -> MemorySnapshot:
    """Returns the memory snapshot in a file. Nothing in the file is run.

    PyTorch writes such files with `torch.cuda.memory._dump_snapshot`. These forms are read, each also inside gzip: a
    pickle of protocol 0 to 5; the same dictionary, or only its list of segments, as JSON; an SQLite database.

    Args:
      path: the file.

    Raises:
      OSError: if the file cannot be read.
      RefusedFileError: if it is damaged or not a memory snapshot. The error names what the file is.
    """
    source = path_text(path)
    content = read_bytes(source)
    compression = ""
    if content.startswith(gzipped.SIGNATURE):
        content, compression = gzipped.decompress(content, source), "gzip "
    snapshot = _read(content, source, compression)
    return replace(snapshot, source=os.path.basename(source))


def _read(content: bytes, source: str, compression: str) -> MemorySnapshot:
    """Returns the snapshot in an uncompressed file."""
    if (refusal := describe_other(content, source)) is not None:
        raise RefusedFileError(refusal)
    if content.startswith(_DATABASE):
        from nbtf._snapshots.database import read_database  # here, because few files need it and some Pythons lack it

        builder = SnapshotBuilder(source, is_shared=False)
        read_database(content, source, builder)
        return builder.snapshot(f"{compression}SQLite")
    if content.startswith(_PICKLES):
        builder = SnapshotBuilder(source, is_shared=True)
        return builder.snapshot(f"{compression}pickle", read_pickled(content, source, builder))
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise _unknown(source, len(content)) from None
    if text.lstrip(" \t\r\n")[:1] not in ("{", "["):
        raise _unknown(source, len(content))
    del content
    builder = SnapshotBuilder(source, is_shared=False)
    return builder.snapshot(f"{compression}JSON", add_json(text, source, builder))


def _unknown(source: str, nbytes: int) -> RefusedFileError:
    size = f"{nbytes:,} bytes" if nbytes else "an empty file"
    return RefusedFileError(
        f"{source} is not a memory snapshot ({size}). Expected a file of `torch.cuda.memory._dump_snapshot`: a pickle, "
        "JSON or an SQLite database."
    )
