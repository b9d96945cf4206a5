"""Which messages does a text contain? Each once, in the order of the text, with the number of its repetitions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

from nbtf._error_texts import actions, bfc_causes, error_table, nvidia_smi, placements, torch_causes
from nbtf._error_texts.bfc_dump import Dump, dumps
from nbtf._error_texts.cleaning import Text
from nbtf._error_texts.finding import Action, Figure, Finding, Statement
from nbtf._error_texts.matching import Matches
from nbtf._error_texts.other_memory import MESSAGES, Message
from nbtf._error_texts.torch_memory import TorchMemory, torch_messages

SCHEMA = "nbtf-explain/1"
MOST = 24
"""Different messages that are explained; a text with more is a log of many programs."""

_MENTIONS = (
    "CUDAoutofmemory",
    "torch.OutOfMemoryError",
    "torch.cuda.OutOfMemoryError",
    "HIPoutofmemory",
    "wouldexceedallowedmemory.(outofmemory)",
)
_MENTIONED = (
    *("MPSbackendoutofmemory", "XPUoutofmemory", "OOMwhenallocatingtensor", "RESOURCE_EXHAUSTED:Outofmemory"),
    *("cupy.cuda.memory.OutOfMemoryError", "ranoutofmemorytryingtoallocate", "ResourceExhaustedError"),
)
_NAMED = {
    "bytes": "hostRequest",
    "capability": "capabilityNamed",
    "condition": "conditionNamed",
    "count": "countNamed",
    "device": "deviceNamed",
    "file": "fileNamed",
    "n": "killsNamed",
    "op": "opNamed",
    "pid": "processNumber",
    "status": "statusNamed",
    "version": "versionNamed",
}
"""Texts of the names and numbers in messages that have one meaning."""
_WINDOW = 3000
"""Characters after its anchor in which a message is searched."""


class Explanation(NamedTuple):
    """The messages of a text.

    Attributes:
      findings: the messages, by line; empty if none is recognised.
      left_out: number of further different messages, which are not explained.
    """

    findings: Sequence[Finding]
    left_out: int = 0

    def plain(self) -> dict[str, Any]:
        """Returns the explanation as JSON-compatible values; sizes are in bytes."""
        located = [finding.plain() for finding in self.findings]
        return {"schema": SCHEMA, "recognised": bool(located), "findings": located, "left_out": self.left_out}


def explain(text: str) -> Explanation:
    """Returns the messages of GPU programs that a text contains, explained.

    Args:
      text: such as a log, a traceback, or the output of `nvidia-smi`.

    Raises:
      ValueError: if the text has more than 50 MiB.

    >>> text = "CUDA out of memory. Tried to allocate 9.00 GiB (GPU 0; 8.00 GiB total capacity; 0 bytes already "
    >>> text += "allocated; 7.20 GiB free; 0 bytes reserved in total by PyTorch)"
    >>> [cause.name for finding in explain(text).findings for cause in finding.causes]
    ['requestExceedsCard']
    """
    prepared = Text(text)
    located = list(dumps(prepared))
    matches = Matches(prepared)
    _add_torch(prepared, matches)
    _add_figured(prepared, matches, [dump for *_, dump in located])
    _add_table(prepared, matches)
    _add_placements(prepared, matches)
    findings = [*matches.findings(), *_dumped(prepared, located), *nvidia_smi.findings(prepared)]
    merged = _merged(findings or _mentions(prepared))
    return Explanation(merged[:MOST], max(len(merged) - MOST, 0) + matches.left_out)


def _add_torch(text: Text, matches: Matches) -> None:
    for extent, memory in torch_messages(text):
        matches.add("torch", *extent, partial(_torch, memory))


def _torch(memory: TorchMemory | None, quote: str, line: int) -> Finding:
    if memory is None:
        return _absurd(quote, line) if "1EB" in quote.replace(" ", "") else _mention(quote, line, "PyTorch")
    figures = [Figure("deviceNumber", memory.device, str(memory.device)), *memory.figures()]
    return Finding("torch", "PyTorch", quote, line, figures, *torch_causes.reasons_of(memory))


def _occurrences(text: Text, anchor: str, pattern: re.Pattern[str], reach: int = 0) -> Iterator[re.Match[str]]:
    """Yields the matches of a pattern that begin at an anchor, or at most `reach` characters before it."""
    squeezed, position = text.squeezed, 0
    while (start := squeezed.find(anchor, position)) >= 0:
        position = start + len(anchor)
        if reach:
            # A number at the end of the line above is not part of this one, unless the line was wrapped.
            line = max(start - reach, text.line_start(start))
            match = pattern.search(squeezed, line, start + _WINDOW)
            match = match or pattern.search(squeezed, max(start - reach, 0), start + _WINDOW)
        else:
            match = pattern.match(squeezed, start, start + _WINDOW)
        if match is not None:
            position = max(position, match.end())
            yield match


def _add_figured(text: Text, matches: Matches, known_dumps: Sequence[Dump]) -> None:
    for message in MESSAGES:
        for anchor in message.anchors:
            for match in _occurrences(text, anchor, message.pattern, message.reach):
                matches.add(message.name, *match.span(), partial(_figured, message, match, known_dumps))


def _figured(message: Message, match: re.Match[str], known_dumps: Sequence[Dump], quote: str, line: int) -> Finding:
    figures, reasons = message.read(match)
    same_allocator = [dump for dump in known_dumps if message.name == "tensor" and dump.allocator == match[4]]
    if same_allocator:
        decided = bfc_causes.reasons_of(same_allocator[-1])
        reasons = reasons._replace(causes=decided.causes, actions=decided.actions, values=decided.values)
    return Finding(message.name, message.library, quote, line, figures, *reasons)


def _add_table(text: Text, matches: Matches) -> None:
    for wording in error_table.WORDINGS:
        for match in _occurrences(text, wording.anchor, wording.pattern):
            matches.add(wording.row.name, *match.span(), partial(_from_table, wording.row, match.groupdict()))


def _from_table(row: error_table.Row, groups: Mapping[str, str | None], quote: str, line: int) -> Finding:
    names = {name: value for name, value in groups.items() if value}
    figures = [Figure(_NAMED[name], value, value) for name, value in names.items()]
    causes = [Statement(name, names) for name in row.causes or (row.name,)]
    return Finding(row.name, row.library, quote, line, figures, (), causes, (), row.actions)


def _add_placements(text: Text, matches: Matches) -> None:
    for wording in placements.WORDINGS:
        for match in _occurrences(text, wording.anchor, wording.pattern):
            names = placements.named_in(match, text.line_end)
            matches.add(wording.cause, *match.span(), partial(_placement, wording, names))


def _placement(wording: placements.Wording, names: Mapping[str, str], quote: str, line: int) -> Finding:
    name, figures, reasons = placements.reasons_of(wording, names)
    library = {"conflictingDevices": "TensorFlow", "cupyDevice": "CuPy"}.get(name, "PyTorch")
    return Finding(name, library, quote, line, figures, *reasons)


def _dumped(text: Text, located: Sequence[tuple[int, int, Dump]]) -> Iterator[Finding]:
    for first, _, dump in located:
        reasons = bfc_causes.reasons_of(dump)
        quote = " ".join(text.lines[first].split())[:400]
        figures = bfc_causes.figures_of(dump)
        yield Finding(
            "dump", "TensorFlow", quote, text.number_of(first), figures, *reasons, dump=dump if dump.chunks else None
        )


def _merged(findings: Sequence[Finding]) -> list[Finding]:
    """Returns each message once, by line; the same figures in other places only count."""
    by_figures: dict[Any, Finding] = {}
    for finding in sorted(findings, key=lambda finding: finding.line):
        key = finding.message, tuple(finding.figures), tuple(cause.name for cause in finding.causes)
        first = by_figures.get(key)
        by_figures[key] = finding if first is None else replace(first, times=first.times + finding.times)
    return list(by_figures.values())


def _mentions(text: Text) -> list[Finding]:
    """Returns where a text speaks of a message without its figures."""
    for words in (*_MENTIONS, *_MENTIONED):
        start = text.squeezed.find(words)
        if start >= 0:
            library = "PyTorch" if words in _MENTIONS or words[:3] in ("MPS", "XPU") else "TensorFlow"
            library = "CuPy" if words.startswith("cupy") else library
            return [_mention(text.quote(start, start + len(words)), text.number_at(start), library)]
    return []


def _absurd(quote: str, line: int) -> Finding:
    """Returns a request of more than an exabyte, of which PyTorch writes no figures."""
    return Finding("torch", "PyTorch", quote, line, causes=[Statement("absurdRequest")], actions=[actions.SMALLER])


def _mention(quote: str, line: int, library: str) -> Finding:
    causes: list[Statement] = []
    suggested: list[Action] = [Action("wholeMessage", "python program.py 2>&1 | nbtf explain -"), actions.SMI]
    return Finding("mention", library, quote, line, (), [Statement("noFiguresHere")], causes, (), suggested)
