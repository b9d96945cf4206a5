"""Are arrays and members of archives read as they were, and is anything else refused before it takes memory?"""

from __future__ import annotations

import io
import struct
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nbtf._storage import archives, limits
from nbtf._storage.archives import inside, member_names, read_array_specs, read_arrays, read_members
from nbtf._storage.refusal import RefusedFileError
from nbtf.errors import DataLossError

ARRAYS: dict[str, Any] = {
    "matrix": np.arange(6.0).reshape(2, 3),
    "columns": np.asfortranarray(np.arange(6).reshape(2, 3)),
    "bytes": np.array([b"ab", b"c"]),
    "text": np.array("hello"),
    "empty": np.zeros((0, 3), np.float16),
    "scalar": np.float32(3),
    "truth": np.array([True]),
    "a/b/0": np.arange(3, dtype=">i4"),
    "raw": np.zeros(3, "V2"),
}


def _npz(**arrays_by_name: Any) -> bytes:
    stream = io.BytesIO()
    np.savez(stream, **arrays_by_name)
    return stream.getvalue()


def _zip(compression: int = zipfile.ZIP_STORED, **members: bytes) -> io.BytesIO:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", compression) as archive:
        for name, content in members.items():
            archive.writestr(f"{name}.npy", content)
    return stream


def _array(header: str, content: bytes = b"") -> bytes:
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + content


def test_arrays_come_back(tmp_path: Path) -> None:
    (tmp_path / "a.npz").write_bytes(_npz(**ARRAYS))
    arrays = read_arrays(tmp_path / "a.npz")

    assert {name: (value.dtype, value.tolist()) for name, value in arrays.items()} == {
        name: (value.dtype, value.tolist()) for name, value in ARRAYS.items()
    }
    assert arrays["columns"].flags.f_contiguous
    assert list(read_arrays(tmp_path / "a.npz", names=["text", "missing"])) == ["text"]


def test_headers_alone_say_shapes_and_types() -> None:
    specs = read_array_specs(io.BytesIO(_npz(**ARRAYS)))

    assert {name: (spec.shape, spec.dtype) for name, spec in specs.items()} == {
        name: (value.shape, value.dtype) for name, value in ARRAYS.items()
    }


def test_every_cut_and_every_changed_byte_gives_the_arrays_or_a_refusal() -> None:
    whole = _npz(a=np.arange(3), b=np.array([b"text"]))
    damaged = [whole[:length] for length in range(len(whole))]
    damaged += [whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1 :] for at in range(len(whole))]
    refused = 0
    for content in damaged:
        try:
            arrays = read_arrays(io.BytesIO(content))
        except RefusedFileError:
            refused += 1
        else:  # a changed date, say
            assert all(value.tolist() in ([0, 1, 2], [b"text"]) for value in arrays.values())

    assert refused > len(whole) * 1.2


@pytest.mark.parametrize(
    "content",
    [
        _array("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }\n", b"\0" * 8),
        _array("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }\n", b"\0" * 4),
        _array("{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000000,), }\n", b"\0" * 4),
        _array("{'descr': '|S0', 'fortran_order': False, 'shape': (1000000000000,), }\n"),
        _array("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }\n"),
        _array("{'descr': '<f4', 'fortran_order': False, 'shape': (2**30,), }\n"),
        _array("{'descr': '<q9', 'fortran_order': False, 'shape': (1,), }\n", b"\0" * 9),
        _array("__import__('os').system('true')"),
        b"\x80\x04}.",
        b"",
    ],
    ids=["object", "fields", "huge", "no-size", "negative", "expression", "no-type", "code", "pickle", "nothing"],
)
def test_what_is_no_plain_array_is_refused(content: bytes) -> None:
    with pytest.raises(RefusedFileError, match="the archive is damaged"):
        read_arrays(_zip(a=content))


def test_a_bomb_takes_no_memory() -> None:
    zeros = 200_000_000
    bomb = _zip(
        zipfile.ZIP_DEFLATED, a=_array("{'descr': '|u1', 'fortran_order': False, 'shape': (200000000,), }", b"")
    )
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("a.npy", "w") as member:
        member.write(_array(f"{{'descr': '|u1', 'fortran_order': False, 'shape': ({zeros},), }}"))
        for _ in range(200):
            member.write(bytes(zeros // 200))
    tracemalloc.start()
    try:
        for read in (read_arrays, read_array_specs):
            with pytest.raises(RefusedFileError, match=r"2000000\d+ bytes of content"):
                read(bomb)
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()


def test_members_are_bytes_by_name(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("config.json", b"{}")

    assert member_names(tmp_path / "a.zip") == ["config.json"]
    assert read_members(tmp_path / "a.zip", ["config.json"]) == {"config.json": b"{}"}
    with pytest.raises(RefusedFileError, match="There is no item named 'weights'"):
        read_members(tmp_path / "a.zip", ["weights"])
    with pytest.raises(FileNotFoundError):
        read_members(tmp_path / "b.zip", [])


def test_a_refusal_names_the_file_and_is_caught_as_data_loss(tmp_path: Path) -> None:
    (tmp_path / "bad.npz").write_bytes(b"bad")

    with pytest.raises(DataLossError, match=r"bad\.npz is damaged: BadZipFile: File is not a zip file"):
        read_arrays(tmp_path / "bad.npz")


OUTSIDE = ["../a", "/a", "a/../../b", "C:\\a", "\\\\host\\a", "", "a\0b", "b\\..\\..\\a", "\ud800", "x" * 300, "a\nb"]


@pytest.mark.parametrize("name", OUTSIDE, ids=ascii)
def test_a_path_out_of_the_folder_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(RefusedFileError, match="which is not a file inside its folder"):
        inside(tmp_path, name, "list.json")


def test_a_path_inside_the_folder_is_taken(tmp_path: Path) -> None:
    assert inside(tmp_path, "a/b", "list.json") == tmp_path / "a" / "b"


def test_a_name_may_have_255_bytes_and_a_path_four_of_them(tmp_path: Path) -> None:
    longest = "/".join(["x" * 255] * 4)

    assert inside(tmp_path, longest, "list.json") == tmp_path / longest
    for name in ("x" * 256, f"a/{longest}"):
        with pytest.raises(RefusedFileError, match="which is not a file inside its folder"):
            inside(tmp_path, name, "list.json")


def test_so_many_members_are_read_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits.ARRAYS, "maximum", 1000)
    members = [zipfile.ZipInfo(str(number)) for number in range(1001)]
    archives._check_sizes(members[:-1], 10_000_000)

    with pytest.raises(ValueError, match="1,001 arrays in one file; the limit is 1,000"):
        archives._check_sizes(members, 10_000_000)


def test_two_members_of_the_same_name_are_refused() -> None:
    with pytest.raises(ValueError, match="two members have the same name"):
        archives._check_sizes([zipfile.ZipInfo("a"), zipfile.ZipInfo("a")], 1000)


def test_of_each_byte_come_at_most_16_and_a_mebibyte() -> None:
    size, archive = 0, io.BytesIO()
    while (most := 16 * len(archive.getvalue()) + 2**20) != size:
        size, archive = most, _zip(zipfile.ZIP_DEFLATED, zeros=bytes(most))

    assert read_members(archive, ["zeros.npy"]) == {"zeros.npy": bytes(size)}
    with pytest.raises(RefusedFileError, match=f"declare {size + 1} bytes of content; the limit is {size}"):
        member_names(_zip(zipfile.ZIP_DEFLATED, zeros=bytes(size + 1)))


@pytest.mark.parametrize("excess", [0, 1])
def test_a_member_that_is_said_to_be_as_long_as_the_archive_is_refused(excess: int) -> None:
    content = bytearray(_npz(a=np.arange(3)))
    directory = content.rindex(b"PK\x01\x02")
    struct.pack_into("<I", content, directory + 20, len(content) + excess)  # its compressed size

    with pytest.raises(RefusedFileError, match=rf"as many bytes as the whole archive \({len(content)}\)"):
        read_arrays(io.BytesIO(content))


@pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
@pytest.mark.parametrize("value", [np.arange(3), np.zeros((0, 3))], ids=["full", "empty"])
def test_a_checksum_that_differs_is_damage(value: Any, compression: int) -> None:
    stream = io.BytesIO()
    np.save(stream, value)
    content = bytearray(_zip(compression, a=stream.getvalue()).getvalue())
    content[content.rindex(b"PK\x01\x02") + 16] ^= 1

    with pytest.raises(RefusedFileError, match=r"Bad CRC-32 for file 'a\.npy'"):
        read_arrays(io.BytesIO(content))


def test_the_first_member_that_is_no_array_is_named() -> None:
    archive = io.BytesIO(_npz(a=1))
    with zipfile.ZipFile(archive, "a") as writer:
        writer.writestr("x", b"")
        writer.writestr("y", b"")

    with pytest.raises(RefusedFileError, match="the member 'x' is not an array"):
        read_arrays(archive)


@pytest.mark.parametrize(("version", "layout"), [(1, "<H"), (2, "<I"), (3, "<I")])
def test_a_header_of_10_000_bytes_and_64_axes_is_read_and_no_more(version: int, layout: str) -> None:
    def array(axes: int, nbytes: int) -> io.BytesIO:
        header = f"{{'descr': '|u1', 'fortran_order': False, 'shape': ({'1, ' * axes}), }}".ljust(nbytes)
        start = b"\x93NUMPY" + bytes([version, 0]) + struct.pack(layout, nbytes)
        return _zip(a=start + header.encode() + b"\7")

    assert read_arrays(array(64, 10_000))["a"].shape == (1,) * 64
    with pytest.raises(RefusedFileError, match="65 axes of one array; the limit is 64"):
        read_arrays(array(65, 10_000))
    with pytest.raises(RefusedFileError, match="has 10001 bytes"):
        read_arrays(array(64, 10_001))


def test_reading_takes_the_memory_of_the_array_and_of_pieces_of_it(tmp_path: Path) -> None:
    (tmp_path / "a.npz").write_bytes(_npz(a=np.zeros(2**22, np.uint8)))
    tracemalloc.start()
    try:
        read_arrays(tmp_path / "a.npz")
        assert tracemalloc.get_traced_memory()[1] < 2**22 + 2.5 * 2**20
    finally:
        tracemalloc.stop()
