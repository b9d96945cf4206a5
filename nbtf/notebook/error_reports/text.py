"""How is an explained error text written? Figures, arithmetic, cause and lines to type, in the reader's language."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from typing import Any

from nbtf._error_texts.finding import Action, Finding, Nbytes, Statement, Value
from nbtf._error_texts.recognition import Explanation
from nbtf.notebook import catalogue
from nbtf.notebook.error_reports.address_map import map_lines

WIDTH = 100
"""Characters of a line at most, if its language has spaces between words."""

_LEAST_WIDTH = 40
_TIE = "\xa0"
_GIB, _MIB, _KIB = 1 << 30, 1 << 20, 1 << 10


class Wording:
    """The texts of one language."""

    def __init__(self, language: str = "", width: int = WIDTH) -> None:
        """Loads the texts.

        Args:
          language: such as `ja`; empty for that of the environment or the notebook, otherwise English.
          width: characters of a line.
        """
        self.width: int = min(max(width, _LEAST_WIDTH), WIDTH)
        self.language: str = catalogue.language_of(language) if language else catalogue.asked_for() or catalogue.ENGLISH
        self._texts: dict[str, Any] = catalogue.read(self.language)

    def text(self, section: str, name: str, values: Mapping[str, Value] | None = None, /, **extra: Value) -> str:
        """Returns a text with its values; sizes are written with a unit."""
        leaf = self._texts[section][name]
        template: str = leaf if self.language == catalogue.ENGLISH else leaf[1]
        written = {key: written_value(value) for key, value in {**(values or {}), **extra}.items()}
        return catalogue.filled(template, **written)

    def phrase(self, name: str, /, **values: Value) -> str:
        """Returns a heading or a sentence about the whole text."""
        return self.text("explain", name, values)

    def sentence(self, section: str, statement: Statement | Action, finding: Finding) -> str:
        """Returns a sentence of a finding."""
        return self.text(section, statement.name, {**finding.values, **statement.values})


def written_value(value: Value) -> int | str:
    r"""Returns a value for a sentence; a size is not wrapped between number and unit.

    >>> written_value(Nbytes(21474836480)), written_value(Nbytes(-1 << 20)), written_value(3)
    ('20.00\xa0GiB', '−1.00\xa0MiB', 3)
    """  # noqa: RUF002
    if not isinstance(value, Nbytes):
        return value
    sign, nbytes = ("\N{MINUS SIGN}" if value < 0 else ""), abs(value)
    for unit, name in ((_GIB, "GiB"), (_MIB, "MiB"), (_KIB, "KiB")):
        if nbytes >= unit:
            return f"{sign}{nbytes / unit:,.2f}{_TIE}{name}"
    return f"{sign}{nbytes}{_TIE}B"


def report(explanation: Explanation, language: str = "", width: int = WIDTH) -> str:
    """Returns an explanation as text.

    Args:
      explanation: what `nbtf._error_texts.recognition.explain` returned.
      language: such as `ja`; empty for that of the environment or the notebook, otherwise English.
      width: characters of a line; at most `WIDTH`.
    """
    wording = Wording(language, width)
    if not explanation.findings:
        sentence = wording.phrase("unknown", known=wording.phrase("known"))
        return "\n".join(_wrapped(sentence, wording, ""))
    lines: list[str] = []
    for finding in explanation.findings:
        lines += ["", *_finding(finding, wording)] if lines else _finding(finding, wording)
    if explanation.left_out:
        lines += ["", wording.phrase("leftOut", n=explanation.left_out)]
    return "\n".join(lines).replace(_TIE, " ")


def _finding(finding: Finding, wording: Wording) -> Iterator[str]:
    """Yields the lines about one message."""
    heading = "headingTimes" if finding.times > 1 else "heading"
    yield wording.phrase(heading, library=finding.library, line=str(finding.line), n=finding.times)
    yield from textwrap.wrap(finding.quote, wording.width, initial_indent="  > ", subsequent_indent="  > ")
    yield from _figures(finding, wording)
    if finding.arithmetic:
        yield ""
        yield wording.phrase("arithmetic")
        for statement in finding.arithmetic:
            yield from _wrapped(wording.sentence("explainSums", statement, finding), wording, "  ")
    if finding.dump is not None:
        yield ""
        yield wording.phrase("map", allocator=finding.dump.allocator or "BFC")
        yield from map_lines(finding.dump, wording)
    yield from _causes(finding, wording)
    if finding.actions:
        yield ""
        yield wording.phrase("actions")
        for number, action in enumerate(finding.actions, start=1):
            yield from _action(number, action, finding, wording)


def _figures(finding: Finding, wording: Wording) -> Iterator[str]:
    """Yields the figures as they are written, each with what it counts."""
    if not finding.figures:
        return
    yield ""
    yield wording.phrase("figures")
    width = min(max(len(figure.written) for figure in finding.figures), 30)
    for figure in finding.figures:
        about = wording.text("explainFigures", figure.name)
        yield from _wrapped(about, wording, " " * (width + 4), f"  {figure.written.rjust(width)}  ")


def _causes(finding: Finding, wording: Wording) -> Iterator[str]:
    causes = [wording.sentence("explainCauses", cause, finding) for cause in finding.causes]
    if causes:
        yield ""
        yield wording.phrase("cause") if len(causes) == 1 else wording.phrase("undecided", n=len(causes))
        for cause in causes:
            yield from _wrapped(
                cause, wording, "  " if len(causes) == 1 else "    ", "" if len(causes) == 1 else "  - "
            )
    for statement in finding.also:
        about = wording.sentence("explainCauses", statement, finding)
        yield from _wrapped(wording.phrase("colon", first=wording.phrase("also"), second=about), wording, "  ")


def _action(number: int, action: Action, finding: Finding, wording: Wording) -> Iterator[str]:
    about = wording.sentence("explainActions", action, finding)
    if action.line:
        yield f"  {number}. {action.line}"
        yield from _wrapped(about, wording, "     ")
    else:
        yield from _wrapped(about, wording, "     ", f"  {number}. ")


def _wrapped(text: str, wording: Wording, indent: str, first: str = "") -> list[str]:
    """Returns the lines of a text; only a language with spaces between words is wrapped."""
    if wording.language != catalogue.ENGLISH:
        return [f"{first or indent}{text}"]
    width, first = wording.width, first or indent
    return textwrap.wrap(text, width, initial_indent=first, subsequent_indent=indent, break_long_words=False)
