"""Zip archives of arrays from untrusted sources: read within limits, and without pickles."""

from __future__ import annotations

import math
import os
import re
import struct
import zipfile
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import IO, Any, NamedTuple

import numpy as np

from nbtf._bfloat16 import advice, scalar_class
from nbtf._storage.limits import ARRAYS, AXES, NAME_BYTES, SWELLING, TEXT_BYTES, UnsavableError
from nbtf._storage.reading import open_bytes
from nbtf._storage.refusal import RefusedFileError, refusing

ALLOWANCE = 2**20
"""Bytes that even a small archive may expand to."""

_CHUNK = 2**20
_MOST_NAME = 255  # bytes in a file name, the limit of common file systems
_MOST_HEADER = 10_000  # bytes; 64 axes have 1,300
_TYPES = frozenset("biufcSUV")
"""NumPy's letters for types that need no pickle."""

_BFLOAT16 = "<V2"
"""The dtype that NumPy writes for bfloat16 numbers; two bytes of any other meaning are `|V2`."""

_LAYOUTS = {b"\x93NUMPY\x01\x00": "<H", b"\x93NUMPY\x02\x00": "<I", b"\x93NUMPY\x03\x00": "<I"}
"""The first bytes of an array file (NEP 1), each with the format of the header length."""

_HEADER = re.compile(
    r"\{'descr': '([<>|=]?[?biufcSUV]\d{0,9})', 'fortran_order': (True|False), "
    r"'shape': \(((?:\d{1,18}, ?)*(?:\d{1,18},?)?)\),? ?\}\s*"
)
"""NumPy's header of an array (NEP 1), for types that need no pickle. No expression is evaluated."""

Source = str | os.PathLike[str] | IO[bytes]
"""A path, or an open seekable file."""


class ArraySpec(NamedTuple):
    """The content of an array's header.

    Attributes:
      shape: the lengths of its axes.
      dtype: its type.
      columns_first: whether elements along the first axis are adjacent (Fortran order).
    """

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    columns_first: bool

    @property
    def nbytes(self) -> int:
        """Size of the array in bytes."""
        return math.prod(self.shape) * self.dtype.itemsize


def read_members(file: Source, names: Iterable[str], source: object = None) -> dict[str, bytes]:
    """Returns members of a zip archive by name.

    Args:
      file: the archive.
      names: names of the members.
      source: how errors name the archive if it is not a path.

    Raises:
      FileNotFoundError: if the file does not exist.
      RefusedFileError: if it is not a zip archive, is damaged, would expand too far, or lacks a member.
    """
    with _open_archive(file, source) as archive:
        return {name: archive.read(name) for name in names}


def member_names(file: Source, source: object = None) -> list[str]:
    """Returns the names of an archive's members; raises the same errors as `read_members`."""
    with _open_archive(file, source) as archive:
        return archive.namelist()


def read_arrays(
    file: Source, source: object = None, names: Iterable[str] | None = None
) -> dict[str, np.ndarray[Any, Any]]:
    """Returns the arrays of an archive (NumPy's `.npz`) by name.

    Args:
      file: the archive.
      source: how errors name the archive if it is not a path.
      names: names of the arrays to read; missing ones are skipped. None reads all.

    Raises:
      FileNotFoundError: if the file does not exist.
      RefusedFileError: if it is not an archive of arrays, is damaged, or would expand too far.
    """
    chosen = None if names is None else set(names)
    with _open_archive(file, source) as archive:
        return {
            name: _read_array(archive, info)
            for name, info in _array_members(archive).items()
            if chosen is None or name in chosen
        }


def read_array_specs(file: Source, source: object = None) -> dict[str, ArraySpec]:
    """Returns shapes and types of the arrays in an archive, reading only their headers.

    Args:
      file: the archive.
      source: how errors name the archive if it is not a path.

    Raises:
      FileNotFoundError: if the file does not exist.
      RefusedFileError: if it is not an archive of arrays, or is damaged.
    """
    with _open_archive(file, source) as archive:
        specs: dict[str, ArraySpec] = {}
        for name, info in _array_members(archive).items():
            with archive.open(info) as stream:
                specs[name] = _read_header(stream, info)
        return specs


def check_arrays(arrays: Mapping[str, np.ndarray[Any, Any]]) -> None:
    """Checks arrays against the limits of an archive.

    Raises:
      UnsavableError: if a name or an array cannot be saved, or there are too many.
    """
    ARRAYS.check(len(arrays))
    for name, array in arrays.items():
        _check_name(name)
        AXES.check(array.ndim)
        if array.dtype.kind in "SU":
            TEXT_BYTES.check(array.dtype.itemsize)
        if array.dtype.kind == "O" or not is_storable(array):
            raise UnsavableError(f"the value {name!r:.200} has the type {array.dtype}, which archives cannot store.")


def storable(value: Any) -> np.ndarray[Any, Any]:
    """Returns a variable's value in storable form: strings as bytes, 8-bit floats as float32.

    Raises:
      UnsavableError: if an object in it is not a string, or a string ends with a NUL byte, which NumPy's files drop.
    """
    array = np.asarray(value, object if isinstance(value, bytes | str) else None)
    if array.dtype.kind == "V" and array.dtype.type is not np.void and array.dtype.name != "bfloat16":
        return array.astype(np.float32)
    if array.dtype.kind != "O":
        return array
    texts: list[Any] = [text.encode() if isinstance(text, str) else text for text in array.ravel().tolist()]
    for text in texts:
        if not isinstance(text, bytes):
            raise UnsavableError(f"an array holds {text!r:.60}, which is neither a number nor text.")
        if text.endswith(b"\0"):
            raise UnsavableError(f"the text {text[-60:]!r} ends with a NUL byte, which NumPy's files drop.")
    return np.array(texts, np.bytes_).reshape(array.shape)


def is_storable(array: np.ndarray[Any, Any] | np.generic) -> bool:
    """Returns whether an array or scalar can be saved unchanged and is the same after reading."""
    is_plain = isinstance(array, np.generic) or type(array) is np.ndarray
    dtype = array.dtype
    if dtype.kind == "O":
        return is_plain and all(isinstance(text, bytes) for text in np.ravel(array).tolist())
    return is_plain and dtype.kind in _TYPES and dtype.fields is None and dtype.itemsize > 0


def write_arrays(file: IO[bytes], arrays: Mapping[str, np.ndarray[Any, Any]]) -> None:
    """Writes arrays by name as an archive for `read_arrays` (NumPy's `.npz`).

    Raises:
      UnsavableError: if `check_arrays` raises it; nothing is written in that case.
    """
    check_arrays(arrays)
    with zipfile.ZipFile(file, "w") as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as stream:
                np.lib.format.write_array(stream, array, allow_pickle=False)


def _check_name(name: str) -> None:
    try:
        NAME_BYTES.check(len(name.encode()))
    except UnicodeEncodeError:
        raise UnsavableError(f"the name {name!r:.200} has a character that UTF-8 cannot write.") from None
    if zipfile.ZipInfo(name).filename != name:  # zipfile cuts a name at a NUL and, on Windows, replaces backslashes
        raise UnsavableError(f"the name {name!r:.200} has a character that archives do not allow in names.")


def inside(folder: str | os.PathLike[str], name: str, source: object) -> Path:
    """Returns the path of a file in a folder whose name was read from an untrusted file.

    Raises:
      RefusedFileError: if the name leads out of the folder.
    """
    names = PurePosixPath(name.replace("\\", "/")).parts
    leads_out = not names or ".." in names or names[0] == "/" or PureWindowsPath(name).drive
    lengths = [len(name_part.encode(errors="replace")) for name_part in names]
    if leads_out or not name.isprintable() or max(lengths) > _MOST_NAME or sum(lengths) > 4 * _MOST_NAME:
        raise RefusedFileError(f"{source} names {name!r:.200}, which is not a file inside its folder.")
    return Path(os.fspath(folder)).joinpath(*names)


@contextmanager
def _open_archive(file: Source, source: object) -> Generator[zipfile.ZipFile]:
    """Opens an archive after checking its declared sizes against the limits."""
    if isinstance(file, str | os.PathLike):
        with open_bytes(file) as stream, _open_archive(stream, source or os.fspath(file)) as archive:
            yield archive
        return
    with refusing(source or "the archive"), zipfile.ZipFile(file) as archive:
        _check_sizes(archive.infolist(), file.seek(0, os.SEEK_END))
        yield archive


def _check_sizes(members: list[zipfile.ZipInfo], nbytes: int) -> None:
    ARRAYS.check(len(members))
    if len({member.filename for member in members}) < len(members):
        raise ValueError("two members have the same name.")
    if any(member.compress_size >= nbytes for member in members):
        raise ValueError(f"a member declares as many bytes as the whole archive ({nbytes}), or more.")
    declared, limit = sum(member.file_size for member in members), SWELLING.maximum * nbytes + ALLOWANCE
    if declared > limit:
        raise ValueError(f"its {nbytes} bytes declare {declared} bytes of content; the limit is {limit}.")


def _array_members(archive: zipfile.ZipFile) -> Mapping[str, zipfile.ZipInfo]:
    members = archive.infolist()
    for member in members:
        if not member.filename.endswith(".npy"):
            raise ValueError(f"the member {member.filename!r:.60} is not an array.")
    return {member.filename.removesuffix(".npy"): member for member in members}


def _read_array(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> np.ndarray[Any, Any]:
    with archive.open(info) as stream:
        spec = _read_header(stream, info)
        array = np.empty(spec.shape, spec.dtype, order="F" if spec.columns_first else "C")
        elements: Any = array.ravel(order="A").view(np.uint8) if spec.nbytes else b""
        memory = memoryview(elements)
        while memory:
            content = stream.read(min(len(memory), _CHUNK))
            if not content:
                raise ValueError(f"the array {info.filename!r:.60} ends too early.")
            memory[: len(content)] = content
            memory = memory[len(content) :]
        return array  # reading the last byte has verified the checksum


def _read_header(stream: IO[bytes], info: zipfile.ZipInfo) -> ArraySpec:
    """Returns the header of an array, after checking it against the size of the member."""
    start = stream.read(8)
    layout = _LAYOUTS.get(start)
    if layout is None:
        raise ValueError(f"the member {info.filename!r:.60} does not start with the header of a NumPy array.")
    (length,) = struct.unpack(layout, stream.read(struct.calcsize(layout)))
    if length > _MOST_HEADER:
        raise ValueError(f"the header of {info.filename!r:.60} has {length} bytes; the limit is {_MOST_HEADER}.")
    match = _HEADER.fullmatch(stream.read(length).decode("latin-1"))
    if match is None:
        raise ValueError(f"the array {info.filename!r:.60} has an unsupported type or header.")
    shape = tuple(int(length) for length in re.findall(r"\d+", match[3]))
    spec = ArraySpec(shape, _type_of(match[1], info), match[2] == "True")
    nbytes = info.file_size - len(start) - struct.calcsize(layout) - length
    AXES.check(len(shape))
    if spec.nbytes != nbytes or not spec.dtype.itemsize:
        raise ValueError(f"the array {info.filename!r:.60} of shape {shape} does not fit its {nbytes} bytes.")
    return spec


def _type_of(description: str, info: zipfile.ZipInfo) -> np.dtype[Any]:
    """Returns the type that a header describes."""
    if description != _BFLOAT16:
        return np.dtype(description)
    scalar = scalar_class("bfloat16")
    if scalar is None:
        raise ValueError(f"the array {info.filename!r:.60} has bfloat16 numbers: {advice()}.")
    return np.dtype(scalar)
