"""Which other kinds of files do people try to open as snapshots, and which command opens them?"""

from __future__ import annotations

import re

_BEGIN = 1 << 16
_EXPECTED = "Expected a memory snapshot, a file of `torch.cuda.memory._dump_snapshot`."
_ZIP = b"PK\x03\x04"
_CHECKPOINT = re.compile(rb"[^\0]{0,200}/?data\.pkl")
_NBTF = re.compile(rb"manifest\.json|nbtf")
_CHROME_TRACE = re.compile(rb'"traceEvents"\s*:|^\s*\[?\s*\{[^{}]*"ph"\s*:\s*"')
_ERROR_TEXT = re.compile(
    rb"out of memory|OutOfMemoryError|CUDA error|in-use chunks|NVIDIA-SMI|all tensors to be on the same device",
    re.IGNORECASE,
)
_PICTURES = {
    b"\x89PNG": "a picture",
    b"\xff\xd8\xff": "a picture",
    b"%PDF": "a PDF",
    b"<!DOCTYPE": "a page",
    b"<html": "a page",
}


def describe_other(content: bytes, source: str) -> str | None:
    """Returns the message about a file that is recognised as something else; None if it may be a snapshot.

    Args:
      content: the file, decompressed.
      source: its name.
    """
    begin = content[:_BEGIN]
    if begin.startswith(_ZIP):
        return f"{source} is {_describe_zip(content)} {_EXPECTED}"
    for signature, name in _PICTURES.items():
        if begin.startswith(signature):
            return f"{source} is {name}, not a memory snapshot. {_EXPECTED}"
    is_json = begin.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"[")
    if is_json and _CHROME_TRACE.search(begin):
        return f"{source} is a trace of a profiler in Chrome's format. Open it with `nbtf view {source}`. {_EXPECTED}"
    if is_json and re.search(rb'"nbformat"\s*:', begin + content[-_BEGIN:]):
        return f"{source} is a notebook. Open it with `nbtf lab`. {_EXPECTED}"
    if not is_json and b"\0" not in begin and _ERROR_TEXT.search(begin):
        return f"{source} is a text with an error message. Run `nbtf explain {source}`. {_EXPECTED}"
    return None


def _describe_zip(content: bytes) -> str:
    """Returns what a zip archive is, by the names of its files."""
    names = content[:_BEGIN] + content[-_BEGIN:]
    if _CHECKPOINT.search(names):
        return "a checkpoint of PyTorch, as `torch.save` writes it; it contains weights and no history of memory."
    if _NBTF.search(names):
        return "an archive of nbtf. If it is a recording, open it with `nbtf view`."
    return "a zip archive. Extract it, and open the file in it."
