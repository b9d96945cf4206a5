"""Which parts of a cell's outputs are compared, and where do they differ from the recorded ones?

The rules are nbval's: outputs are sorted by type (`stdout`, `text/plain`, `ename`), so their order matters only within
a type. Streams that came in pieces are joined; tracebacks and the ids of widgets are ignored. The strip of a live view
is also ignored, because pages without panels show it in whichever cell runs.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, TypeAlias, cast

from nbtf._counts import counted
from nbtf.cli.checking import pictures
from nbtf.cli.checking.long_texts import LongText, first_difference, is_long
from nbtf.cli.checking.sanitizing import Rule, Varied, chosen_rules, notes_on, sanitized
from nbtf.cli.checking.tolerance import agree, beyond
from nbtf.cli.execution import Output
from nbtf.cli.limits import STRICT, Limits
from nbtf.cli.line_changes import changed_lines, shortened
from nbtf.cli.streams import as_seen

LINES_SHOWN = 12

STREAMS = ("stdout", "stderr")

Sorted: TypeAlias = dict[str, list[str]]
"""The contents of outputs, by type."""

Pair: TypeAlias = tuple[Varied, Varied]
"""The values that rules replaced in the recorded outputs, and in those of this run."""

_NOT_COMPARED = ("application/vnd.jupyter.widget-view+json",)
_FORMULA = "text/latex"


@dataclass(frozen=True, slots=True)
class Comparison:
    """How outputs are compared: rules for varying text, the tolerances, and whether nothing may vary."""

    rules: Sequence[Rule] = ()
    limits: Limits = STRICT
    is_strict: bool = False

    def differences(self, recorded: Iterable[Output], printed: Iterable[Output]) -> tuple[list[str], list[str]]:
        """Returns the differences, and notes on outputs that were not fully compared, as lines.

        Args:
          recorded: the outputs in the notebook.
          printed: the outputs of this run.
        """
        then, now = sort(recorded), sort(printed)
        lines: list[str] = []
        notes: list[str] = []
        varied: Pair = {}, {}
        for content in dict.fromkeys([*then, *now]):
            pair = then.get(content, []), now.get(content, [])
            if content in pictures.PICTURES:
                if not (_FORMULA in then and _FORMULA in now):
                    lines += self._of_pictures(content, *pair, notes)
            else:
                lines += self._of_texts(content, *pair, varied)
        return lines, [*notes, *notes_on(*varied)]

    def _of_pictures(self, content: str, then: list[str], now: list[str], notes: list[str]) -> Iterator[str]:
        if len(then) != len(now):
            yield f"{content}: {counted(len(now), 'picture')}; recorded: {len(then)}"
            return
        for recorded, drawn in zip(then, now, strict=True):
            comparison = pictures.compare(recorded, drawn, self.limits.pictures)
            if comparison.difference:
                yield f"{content}: {comparison.difference}"
            if comparison.note:
                notes.append(comparison.note)

    def _of_texts(self, content: str, then: list[str], now: list[str], varied: Pair) -> list[str]:
        if then == now:
            return []
        title = f"{content}:" if now else f"{content}: no output now, but one is recorded"
        title = title if then else f"{content}: output now, but none is recorded"
        if is_long(then) or is_long(now):
            return self._of_long_texts(content, title, then, now, varied)
        recorded, printed = map(self._sanitized, (content, content), (then, now), varied)
        tolerance = self.limits.tolerance
        if len(recorded) == len(printed) and all(map(agree, recorded, printed, [tolerance] * len(recorded))):
            return []
        return [title, *self._changed_lines(then, now)]

    def _of_long_texts(self, content: str, title: str, then: list[str], now: list[str], varied: Pair) -> list[str]:
        """Returns the first difference of texts that are too long to copy without their varying parts."""
        rules, mime_type = self._rules(), self._compared_as(content)
        for pair in zip_longest(then, now, fillvalue=""):
            recorded, printed = (
                LongText.of(text, rules, mime_type, values) for text, values in zip(pair, varied, strict=True)
            )
            difference = first_difference(recorded, printed, self.limits.tolerance)
            if difference is not None:
                return [title, *difference.lines()]
        if len(then) != len(now) and content not in STREAMS:
            return [title, f"{counted(len(now), 'output')}; recorded: {len(then)}"]
        return []

    def _rules(self) -> list[Rule]:
        return chosen_rules(self.rules, self.limits.vary)

    def _compared_as(self, content: str) -> str:
        """Returns the type as which a text is compared: a strict check does not number the ids of pages."""
        return "text/plain" if self.is_strict else content

    def _sanitized(self, content: str, texts: list[str], varied: Varied | None = None) -> list[str]:
        """Returns the texts to compare; an empty stream counts as no output."""
        clean = [sanitized(text, self._rules(), self._compared_as(content), varied) for text in texts]
        return [text for text in clean if text or content not in STREAMS]

    def _changed_lines(self, then: list[str], now: list[str]) -> list[str]:
        """Returns the differing lines as they are in the notebook, and the numbers beyond the tolerance."""
        recorded, printed = ("\n".join(texts).splitlines() for texts in (then, now))
        tolerance = self.limits.tolerance
        if len(recorded) == len(printed):
            pairs = list(zip(recorded, printed, strict=True))
            differing = [pair for pair in pairs if not self._agree(*pair)]
            far = [text for pair in differing for text in beyond(*pair, tolerance)]
            remaining = set(differing)
            printed = [now if (then, now) in remaining else then for then, now in pairs]
        else:
            far = []
        # Texts may differ where no line does: in a trailing space or line break.
        lines = changed_lines(recorded, printed) or [
            f"{sign} {line}"
            for sign, texts in (("-", then), ("+", now))
            for line, _ in [shortened(repr(text), "") for text in texts]
        ]
        return [*_cut(lines), *_cut(far)]

    def _agree(self, recorded: str, printed: str) -> bool:
        rules = self._rules()
        return agree(sanitized(recorded, rules), sanitized(printed, rules), self.limits.tolerance)


def _cut(lines: list[str]) -> list[str]:
    left = len(lines) - LINES_SHOWN
    return [*lines[:LINES_SHOWN], f"… {counted(left, 'more line')}"] if left > 0 else lines


def sort(outputs: Iterable[Output]) -> Sorted:
    """Returns the contents of outputs by type; streams are joined as a reader sees them."""
    fields: Sorted = {}
    for output in outputs:
        if output.get("metadata", {}).get("nbtf", {}).get("follows"):
            continue
        for content, text in _contents(output):
            fields.setdefault(content, []).append(text)
    for stream in STREAMS:
        if stream in fields:
            fields[stream] = [as_seen("".join(fields[stream]))]
    return fields


def _contents(output: Output) -> Iterator[tuple[str, str]]:
    if output["output_type"] == "stream":
        yield output["name"], _text(output["text"])
    for name in ("ename", "evalue"):
        if name in output:
            yield name, _text(output[name])
    for content, value in output.get("data", {}).items():
        if content not in _NOT_COMPARED:
            yield content, _text(value)


def _text(value: Any) -> str:
    """A text, which a file may store as a list of lines; other values are converted to JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        lines = cast("list[object]", value)
        if all(isinstance(line, str) for line in lines):
            return "".join(map(str, lines))
    return json.dumps(value, sort_keys=True, indent=1, ensure_ascii=False)
