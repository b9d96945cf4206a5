"""Are two long texts the same, and if not, where is their first difference? Reads them in parts, side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from nbtf.cli.checking.blocks import BLOCK, Block, blocks
from nbtf.cli.checking.page_ids import PageIds
from nbtf.cli.checking.sanitizing import Rule, Varied, ids_in, with_rules
from nbtf.cli.checking.tolerance import Piece, first_disagreement
from nbtf.cli.line_changes import CONTEXT, changed_lines, equal_until

LINES_SHOWN = 6
"""Characters kept after the first difference on each side."""

CHARACTERS = 2000
"""Characters read beyond the difference."""

OMITTED = "… the rest of this long output is not shown"


@dataclass(frozen=True, slots=True)
class LongText:
    """A text with its varying parts, which are replaced before it is compared."""

    text: str
    rules: Sequence[Rule]
    ids: PageIds | None
    varied: Varied

    @classmethod
    def of(cls, text: str, rules: Sequence[Rule], content: str, varied: Varied) -> LongText:
        """Reads the text's ids if it is a page.

        Args:
          text: text of an output.
          rules: rules for the parts that vary.
          content: its MIME type.
          varied: receives the values that are replaced.
        """
        return cls(text, rules, ids_in(text, content, varied), varied)

    def blocks(self) -> Iterator[Block]:
        """Yields the unchanged parts of the text."""
        return blocks(self.text)

    def compared(self, block: Block) -> str:
        """Returns a part with its varying text replaced."""
        return block.text if block.is_data else with_rules(block.text, self.rules, self.ids, self.varied)

    def compared_texts(self) -> Iterator[str]:
        """Yields all parts with their varying text replaced."""
        return map(self.compared, self.blocks())


@dataclass(frozen=True, slots=True)
class FirstDifference:
    """The first difference of two texts: its line, the text before it in the line, and what follows on each side."""

    line: int
    line_start: str
    then: str
    now: str

    def lines(self) -> list[str]:
        """Returns the difference as lines."""
        then, now = ((self.line_start + text).splitlines()[:LINES_SHOWN] for text in (self.then, self.now))
        return [f"first difference about line {self.line:,}:", *changed_lines(then, now), OMITTED]


def first_difference(recorded: LongText, printed: LongText, tolerance: float) -> FirstDifference | None:
    """Returns the first difference of two texts; None if they agree.

    Args:
      recorded: the text in the notebook.
      printed: the text of this run.
      tolerance: relative difference allowed between numbers, as a share of the larger one.
    """
    if recorded.text == printed.text:
        return None
    if not tolerance:
        return _SideBySide(recorded, printed).first_difference()
    disagreement = first_disagreement(recorded.compared_texts(), printed.compared_texts(), tolerance)
    if disagreement is None:
        return None
    (line, then), (_, now) = map(_from_piece, (recorded, printed), disagreement)
    return FirstDifference(line, "", then, now)


def _from_piece(text: LongText, piece: Piece | None) -> tuple[int, str]:
    """Returns the line number of a piece, and the text from the beginning of that line on."""
    if piece is None:
        return 0, ""
    line, texts = 1, text.compared_texts()
    for earlier_text in islice(texts, piece.text_index):
        line += earlier_text.count("\n")
    first_text = next(texts, "")
    start = max(first_text.rfind("\n", 0, piece.start) + 1, piece.start - CONTEXT, 0)
    return line + first_text.count("\n", 0, start), _with_more(first_text[start:], texts)


def _with_more(text: str, texts: Iterator[str]) -> str:
    while len(text) < CHARACTERS and (following := next(texts, None)) is not None:
        text += following
    return text[:CHARACTERS]


def _numbers(text: LongText) -> dict[str, str]:
    return text.ids.numbers if text.ids is not None else {}


class _SideBySide:
    """Two texts that are read up to their first difference."""

    def __init__(self, recorded: LongText, printed: LongText) -> None:
        self._texts = recorded, printed
        self._blocks = recorded.blocks(), printed.blocks()
        self._ids_are_same = _numbers(recorded) == _numbers(printed)
        self._line, self._text_before = 1, ""

    def first_difference(self) -> FirstDifference | None:
        then = now = ""
        while True:
            if not then and not now:
                then, now = self._next_pair()
            then, now = then or self._next(0), now or self._next(1)
            if not then or not now:
                return self._differing(then, now) if then or now else None
            length = min(len(then), len(now))
            if then[:length] != now[:length]:
                index = equal_until(then, now)
                self._pass(then[:index])
                return self._differing(then[index:], now[index:])
            self._pass(then[:length])
            then, now = then[length:], now[length:]

    def _next_pair(self) -> tuple[str, str]:
        """Returns the next pair of parts; equal parts are skipped without applying rules."""
        while True:
            then, now = (next(each, None) for each in self._blocks)
            if then is None or now is None or then != now or not self._ids_are_same:
                break
            self._pass(then.text)
        recorded, printed = self._texts
        return "" if then is None else recorded.compared(then), "" if now is None else printed.compared(now)

    def _next(self, side: int) -> str:
        """Returns the next non-empty part of one text; empty at its end."""
        return next(filter(None, self._further_texts(side)), "")

    def _pass(self, text: str) -> None:
        self._line += text.count("\n")
        self._text_before = (self._text_before + text[-CONTEXT:])[-CONTEXT:]

    def _differing(self, then: str, now: str) -> FirstDifference:
        line_start = self._text_before.rpartition("\n")[2]
        return FirstDifference(
            self._line, line_start, _with_more(then, self._further_texts(0)), _with_more(now, self._further_texts(1))
        )

    def _further_texts(self, side: int) -> Iterator[str]:
        return map(self._texts[side].compared, self._blocks[side])


def is_long(texts: Sequence[str]) -> bool:
    """Returns whether texts are long enough to be compared here; shorter ones are compared and shown in full."""
    return sum(map(len, texts)) > BLOCK
