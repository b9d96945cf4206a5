"""Are two long texts the same, and if not: where do they differ first? They are read in parts, side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from nbtf.cli.checking.blocks import BLOCK, Block, blocks
from nbtf.cli.checking.page_ids import PageIds
from nbtf.cli.checking.sanitizing import Rule, ids_in, with_rules
from nbtf.cli.checking.tolerance import Piece, first_disagreement
from nbtf.cli.line_changes import CONTEXT, changed_lines, equal_until

LINES_SHOWN = 6
"""Of what follows the first difference on each side."""

CHARACTERS = 2000
"""What is looked at behind it."""

OMITTED = "… what follows in this long output is not shown"


@dataclass(frozen=True, slots=True)
class LongText:
    """A text with what varies in it."""

    text: str
    rules: Sequence[Rule]
    ids: PageIds | None

    @classmethod
    def of(cls, text: str, rules: Sequence[Rule], content: str) -> LongText:
        """Reads the ids of a page.

        Args:
          text: of an output.
          rules: what varies.
          content: its MIME type.
        """
        return cls(text, rules, ids_in(text, content))

    def blocks(self) -> Iterator[Block]:
        """Yields its parts as they are."""
        return blocks(self.text)

    def compared(self, block: Block) -> str:
        """Returns what is compared of a part."""
        return block.text if block.is_data else with_rules(block.text, self.rules, self.ids)

    def compared_texts(self) -> Iterator[str]:
        """Yields what is compared, in parts."""
        return map(self.compared, self.blocks())


@dataclass(frozen=True, slots=True)
class FirstDifference:
    """The first difference of two texts: its line, the text before it in the line, and what follows on each side."""

    line: int
    line_start: str
    then: str
    now: str

    def lines(self) -> list[str]:
        """Returns it as lines."""
        then, now = ((self.line_start + text).splitlines()[:LINES_SHOWN] for text in (self.then, self.now))
        return [f"first difference about line {self.line:,}:", *changed_lines(then, now), OMITTED]


def first_difference(recorded: LongText, printed: LongText, tolerance: float) -> FirstDifference | None:
    """Returns where two texts differ first; None where they agree.

    Args:
      recorded: the text in the notebook.
      printed: the text of this run.
      tolerance: by which share of the larger one numbers may differ.
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
    """Returns in which line of a text a piece is, and the text from the beginning of that line on."""
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
    """Two texts that are read to their first difference."""

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
        """Returns the next parts; those that are the same as they are need no rule."""
        while True:
            then, now = (next(each, None) for each in self._blocks)
            if then is None or now is None or then != now or not self._ids_are_same:
                break
            self._pass(then.text)
        recorded, printed = self._texts
        return "" if then is None else recorded.compared(then), "" if now is None else printed.compared(now)

    def _next(self, side: int) -> str:
        """Returns the next part of one text that is not empty; an empty one at its end."""
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
    """Tells whether texts are compared here; others are compared, and shown, in full."""
    return sum(map(len, texts)) > BLOCK
