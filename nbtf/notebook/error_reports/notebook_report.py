"""How does a notebook show an explained error text? As text, and an allocator's dump also as a picture."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from itertools import groupby

from nbtf._devices.bfc.report import ChunkView, RegionView
from nbtf._displayed import Displayed
from nbtf._error_texts.bfc_dump import Dump, DumpChunk
from nbtf._error_texts.recognition import Explanation
from nbtf.notebook.error_reports.text import report
from nbtf.notebook.stills.device_memory import memory_chunks
from nbtf.notebook.stills.marks import Picture
from nbtf.notebook.stills.memory_history import MemoryHistory
from nbtf.notebook.stills.svg import to_html

_PARTS = 1200
"""Smaller chunks than this part of the memory are drawn together with their neighbours in the same state."""


class ErrorReport(Displayed):
    """An explanation of an error text.

    Attributes:
      explanation: the messages that the text contains.
    """

    def __init__(self, explanation: Explanation) -> None:
        """Stores the explanation."""
        self.explanation: Explanation = explanation

    def __repr__(self) -> str:
        """Returns the report as text, in the language of the notebook."""
        return report(self.explanation)

    def _repr_html_(self) -> str | None:
        """Returns the report with a picture of each dump; None without a dump."""
        pictures = [picture_of(finding.dump) for finding in self.explanation.findings if finding.dump is not None]
        if not pictures:
            return None
        return f"<pre>{html.escape(repr(self))}</pre>" + "".join(map(to_html, pictures))


def picture_of(dump: Dump) -> Picture:
    """Returns a picture of a dump: its chunks by address."""
    limit = dump.stats.get("Limit") or dump.stats.get("MemoryLimit")
    total = dump.in_use + dump.free
    regions = [
        RegionView(number, sum(chunk.size for chunk in chunks), tuple(_views(chunks, total // _PARTS)))
        for number, chunks in enumerate(dump.regions_of_chunks(), start=1)
    ]
    number = re.search(r"_(\d+)_", dump.allocator)
    device = f"/job:localhost/replica:0/task:0/device:GPU:{number[1] if number else 0}"
    return memory_chunks(MemoryHistory(device, limit.nbytes if limit else total, (), regions))


def _views(chunks: Sequence[DumpChunk], smallest: int) -> list[ChunkView]:
    """Returns the chunks of a region; small neighbours in the same state are joined."""
    views: list[ChunkView] = []
    offset = 0
    for (in_use, is_small), group in groupby(chunks, key=lambda chunk: (chunk.in_use, chunk.size < smallest)):
        sizes = [chunk.size for chunk in group]
        for size in [sum(sizes)] if is_small else sizes:
            views.append(ChunkView(offset, size, in_use, size if in_use else 0, None, None if in_use else 0))
            offset += size
    return views
