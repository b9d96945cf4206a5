"""What does a gzip file contain? Its bytes, up to a limit, so that a small file cannot fill the memory."""

from __future__ import annotations

import zlib

from nbtf._storage.refusal import RefusedFileError

SIGNATURE = b"\x1f\x8b"
_SWELLING = 300
"""Most bytes for each byte of the file; repetitive snapshots have about 40. Zeros have 1,032."""

_FREE_BYTES = 1 << 20
_CHUNK = 1 << 24
_WINDOW = zlib.MAX_WBITS + 16
"""The largest window, in the gzip format."""


def decompress(content: bytes, source: str) -> bytes:
    """Returns the decompressed content of a gzip file, which may have several members.

    Args:
      content: the file.
      source: its name for errors.

    Raises:
      RefusedFileError: if it is damaged, ends too early, or swells too much.
    """
    limit = _FREE_BYTES + _SWELLING * len(content)
    chunks: list[bytes] = []
    nbytes = 0
    remainder = content
    while remainder.startswith(SIGNATURE):
        stream = zlib.decompressobj(_WINDOW)
        while not stream.eof:
            try:
                chunk = stream.decompress(remainder, _CHUNK)
            except zlib.error as error:
                raise RefusedFileError(f"{source} is damaged: its gzip data cannot be decompressed: {error}.") from None
            remainder = stream.unconsumed_tail
            nbytes += len(chunk)
            if nbytes > limit:
                raise RefusedFileError(
                    f"{source} is not opened: {len(content):,} bytes of gzip data become more than {limit:,}. "
                    "Decompress the file yourself if you trust it."
                )
            if not chunk and not remainder and not stream.eof:
                raise RefusedFileError(f"{source} is damaged: its gzip data end too early.")
            chunks.append(chunk)
        remainder = stream.unused_data
    return b"".join(chunks)
