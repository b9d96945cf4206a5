"""The reasons of placements and the rules that were tried, as text or as phrases that a page words in its language."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

from nbtf import runtime
from nbtf.notebook import catalogue
from nbtf.notebook.catalogue import filled

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


def phrases_of(path: Sequence[runtime.Rule]) -> list[tuple[Phrase, Phrase, Colour]]:
    """Returns the question, the answer and its colour of each rule that was tried, for a page in any language.

    >>> phrases_of([tf.runtime.Rule("tf.device", "What was asked for?", "GPU:1")])
    [(('byScope', {'name': ''}), 'GPU:1', 'ok')]
    """
    colours: list[Colour] = ["hot" if rule.answer.partition(":")[0] == "no" else "ink" for rule in path]
    colours[-1:] = ["ok"] if colours else []
    return [(_question(rule), _answer(rule), colour) for rule, colour in zip(path, colours, strict=True)]


def reason_in_words(reason: runtime.Reason, op: str) -> str:
    """Returns the reason for an op's placement, in the environment's language."""
    texts = catalogue.words("reasons")
    return filled(texts.get(reason.kind, reason.kind), detail=reason.detail or op)


def is_as_asked(reason: runtime.Reason, device: str) -> bool:
    """Returns whether an op runs on the device that was requested, if any was."""
    requests = [rule.answer for rule in reason.path if rule.rule in _ASKED_BY]
    return reason.kind != "soft placement" and all(name == runtime.short_name(device) for name in requests)


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
