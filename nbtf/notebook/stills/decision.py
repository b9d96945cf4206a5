"""Draws how an op was placed on its device: a box for each placement rule that was tried."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Literal, NamedTuple, TypeAlias

from nbtf import runtime
from nbtf.notebook import catalogue
from nbtf.notebook.catalogue import filled
from nbtf.notebook.stills.flow import flowed
from nbtf.notebook.stills.glyphs import fitted
from nbtf.notebook.stills.marks import WIDTH, Line, Mark, Picture, Rectangle, Text, framed

_MARGIN, _INSIDE = 16.0, 12.0
_HEIGHT, _BESIDE, _BELOW = 50.0, 26.0, 18.0
"""Size of a box, and of the arrow to the next one beside or below it, in px."""

Words = Mapping[str, str]

Phrase: TypeAlias = str | tuple[str, Mapping[str, "Phrase"]]
"""A text that is the same in every language, or the name of a text in the section `decision` and its {names}."""

_QUESTIONS = {
    "tf.device": "byScope",
    "%%device": "byCell",
    "default device": "byDefault",
    "strategy": "byStrategy",
    "dataset": "byDataset",
    "call": "byCall",
    "machine": "here",
    "soft placement": "softPlacement",
    "lowest-numbered GPU": "lowest",
    "CPU": "cpu",
    "kernel": "kernel",
    "variable": "variable",
    "dtype": "dtype",
}
"""The label of each rule; an unknown rule is shown by its own name."""

_ASKED_BY = ("tf.device", "%%device", "default device", "strategy", "dataset", "call")
_ABOUT = re.compile(r"(?:Has|Where is) (\S+) ")
"""Finds the op or the dtype in a question."""


Colour: TypeAlias = Literal["hot", "ink", "ok"]


class Step(NamedTuple):
    """A rule as text; `colour` is the token of its answer: `hot` for no, `ok` for the rule that decided."""

    question: str
    answer: str
    colour: Colour

    @property
    def width(self) -> float:
        """The width that its box needs, in px."""
        return max(text.width for text in _texts(self, 0, 0)) + 2 * _INSIDE


def steps_of(path: Sequence[runtime.Rule], words: Words | None = None) -> list[Step]:
    """Returns the rules that were tried, as text.

    Args:
      path: the rules of a reason.
      words: texts of the section `decision`; None uses those of the environment's language.
    """
    words = words or catalogue.words("decision")
    return [
        Step(_in_words(question, words), _in_words(answer, words), colour)
        for question, answer, colour in phrases_of(path)
    ]


def phrases_of(path: Sequence[runtime.Rule]) -> list[tuple[Phrase, Phrase, Colour]]:
    """Returns the question, the answer and its colour of each rule that was tried, for a page in any language.

    >>> phrases_of([tf.runtime.Rule("tf.device", "What was asked for?", "GPU:1")])
    [(('byScope', {'name': ''}), 'GPU:1', 'ok')]
    """
    colours: list[Colour] = ["hot" if rule.answer.partition(":")[0] == "no" else "ink" for rule in path]
    colours[-1:] = ["ok"] if colours else []
    return [(_question(rule), _answer(rule), colour) for rule, colour in zip(path, colours, strict=True)]


def _in_words(phrase: Phrase, words: Words) -> str:
    if isinstance(phrase, str):
        return phrase
    name, values = phrase
    return filled(words[name], **{key: _in_words(value, words) for key, value in values.items()})


def reason_in_words(reason: runtime.Reason, op: str) -> str:
    """Returns the reason for an op's placement, in the environment's language."""
    texts = catalogue.words("reasons")
    return filled(texts.get(reason.kind, reason.kind), detail=reason.detail or op)


def is_as_asked(reason: runtime.Reason, device: str) -> bool:
    """Returns whether an op runs on the device that was requested, if any was."""
    requests = [rule.answer for rule in reason.path if rule.rule in _ASKED_BY]
    return reason.kind != "soft placement" and all(name == runtime.short_name(device) for name in requests)


def drawn_way(steps: Sequence[Step], x: float, y: float, width: float) -> tuple[list[Mark], float]:
    """Returns a box for each step, and the y coordinate below. Boxes are side by side if all texts fit, else stacked.

    Args:
      steps: from `steps_of`.
      x: left edge of the first box, in px.
      y: its upper edge, in px.
      width: width of the whole row, in px.
    """
    free = width - sum(step.width for step in steps) - _BESIDE * (len(steps) - 1)
    marks: list[Mark] = []
    for number, step in enumerate(steps):
        across = step.width + free / len(steps) if free >= 0 else width
        marks += _box(step, x, y, across)
        last = number == len(steps) - 1
        if free >= 0:
            middle, x = y + _HEIGHT / 2, x + across + _BESIDE
            marks += [] if last else [Line(x - _BESIDE + 3, middle, x - 3, middle, "soft", 1.4, arrow=True)]
        elif not last:
            y += _HEIGHT + _BELOW
            marks.append(Line(x + 24, y - _BELOW + 2, x + 24, y - 2, "soft", 1.4, arrow=True))
    return marks, y + _HEIGHT


def decision(
    explanation: runtime.Explanation,
    width: float = WIDTH,
    words: Words | None = None,
    code_line: Callable[[runtime.Site], str] = str,
) -> Picture:
    """Returns a picture of a tensor's placement and the decision path to it.

    Args:
      explanation: an explanation with a reason, from `tf.runtime.explain_placement`.
      width: in px; at least 240 are used.
      words: texts of the section `decision`; None uses those of the environment's language.
      code_line: formats a line of the program as text.
    """
    width, words = max(width, 240.0), words or catalogue.words("decision")
    op, reason = explanation.op or "", explanation.reason or runtime.Reason("")
    device, _, model = explanation.label.partition(" (simulated ")
    reason_text = reason_in_words(reason, op)
    head = [
        Text(0, 0, device, size=15, weight=650),
        Text(0, 0, reason_text, "soft" if is_as_asked(reason, explanation.device) else "hot", 13, 600),
    ]
    facts = [
        Text(0, 0, op, weight=600, mono=True),
        Text(0, 0, f"{list(explanation.shape)} {explanation.dtype}"),
        Text(0, 0, filled(words["simulated"], model=model.removesuffix(")")) if model else "", "soft", required=True),
    ]
    right, steps = width - _MARGIN, steps_of(explanation.path, words)
    marks, y = flowed(head, _MARGIN, right, 28)
    below, y = flowed([fact for fact in facts if fact.words], _MARGIN, right, y + 20)
    boxes, y = drawn_way(steps, _MARGIN, y + 14, right - _MARGIN)
    line = code_line(explanation.site) if explanation.site else ""
    foot, y = flowed([Text(0, 0, line, "soft", 11, mono=True)], _MARGIN, right, y + 20) if line else ([], y)
    path = " → ".join(f"{step.question} {step.answer}" for step in steps)
    return framed(width, y + 14, f"{device}: {reason_text}. {path}", [*marks, *below, *boxes, *foot])


def _question(rule: runtime.Rule) -> Phrase:
    if rule.rule == "lowest-numbered GPU" and rule.answer == "no":
        return "anyGpu", {}
    key = _QUESTIONS.get(rule.rule)
    if key is None:
        return f"{rule.rule}: {rule.question}"
    about = _ABOUT.match(rule.question)
    return key, {"name": about[1] if about else ""}


def _answer(rule: runtime.Rule) -> Phrase:
    if rule.rule == "soft placement":
        return "on", {}
    answer, _, devices = rule.answer.partition(": ")
    if answer == "no" and devices:
        first, _, last = devices.partition(" to ")
        names: Phrase = ("devices", {"first": first, "last": last}) if last else devices
        return "notHere", {"names": ("none", {}) if devices == "none" else names}
    return (rule.answer, {}) if rule.answer in ("yes", "no", "host") else rule.answer


def _texts(step: Step, x: float, y: float) -> tuple[Text, Text]:
    return Text(x, y + 20, step.question, "soft", 11), Text(x, y + 38, step.answer, step.colour, 13, 650)


def _box(step: Step, x: float, y: float, width: float) -> list[Mark]:
    stroke = {"hot": "hot", "ok": "ok"}.get(step.colour, "hair2")
    pen = 1.6 if step.colour == "ok" else 1.0
    marks: list[Mark] = [
        Rectangle(x + 0.5, y + 0.5, width - 1, _HEIGHT - 1, "", stroke, pen, 8, 1.0, step.colour == "hot")
    ]
    for text in _texts(step, x + _INSIDE, y):
        words = fitted(text.words, width - 2 * _INSIDE + 0.5, text.size, text.weight)
        marks.append(Text(text.x, text.y, words, text.fill, text.size, text.weight))
    return marks
