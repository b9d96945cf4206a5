"""Searches prose, docstrings, comments, messages, labels and lessons for phrases that a native editor would change.

    python -m tests.prose           # counts by place and by rule
    python -m tests.prose --list    # each phrase with its path, line and rule

A list of phrases finds about a third of the faults that an editor finds, so a count of 0 proves nothing.
"""

from __future__ import annotations

import ast
import io
import json
import re
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[1]

RULES: dict[str, tuple[str, str]] = {
    "stand": (
        r"\b(stands?|stood)\b(?! (in for|for|up|by\b|alone|out))",
        "is, is shown, appears, is listed",
    ),
    "tell": (
        r"\b(tells?|told)\b(?! (the reader|you|me|us|apart))",
        "reports, shows, returns; only people and error texts say something",
    ),
    "say-so": (
        r"\b(and|which|who|that)? ?sa(ys?|id) so\b|\bwhat .{1,40} says\b|\bsays (of|what|which|how|why|where)\b",
        "reports X, prints a warning, names X",
    ),
    "nobody": (r"\b([Nn]obody|[Ss]omebody|[Ww]hoever)\b", "name the actor: you, another process, no observer"),
    "who-clause": (r"(^|[.;:(,] ?)Who (?!holds|has|needs|is)[a-z]+s\b", "if you …, users who …"),
    "what-noun": (
        r"(^|[.;:] )What (?!is|are|does|do|did|happened|happens|was|were|must|should|can|if|would|ran|changed)\w+ ",
        "name the thing: missing packages, unsupported features",
    ),
    "is-no-noun": (r"\b(is|are|was|were) no (?!longer|more\b|GPU|such|other way)[a-z]+", "is not a …"),
    "by-itself": (r"\bby (it|them)sel(f|ves)\b", "automatically, on its own"),
    "of-before": (r"\b(of|that of|those of) (before|today|then)\b", "the earlier …, the current …"),
    "another-than": (r"\banother( [a-z]+)? than\b|\bis another( one)?\b|\bare others\b", "different from"),
    "cure": (r"\b(cures?|remedy|remedies|mends?|mended)\b", "fix, solution"),
    "take-down": (r"\btak(e|es|en) (it|them|a block|down)\b.{0,12}\bdown\b|\btakes? down\b", "records"),
    "also-where": (
        r", also (where|with|in|of|those|when|after|one)\b|, too[.,;:)]",
        "even when …; also before the verb",
    ),
    "alone": (
        r"\b(Python|itself|memory|values?|cards?|names?|times?|nbtf|JAX|CPU) alone\b|\bon a card alone\b",
        "only",
    ),
    "as-a-rule": (r"\bas a rule\b", "usually"),
    "for-ever": (r"\bfor ever\b", "forever"),
    "and-on": (
        r"\band on\b(?![- ](the|a|its|top|each|which|what|every|page))",
        "and so on, onwards, from X up",
    ),
    "lend": (
        r"\b(is|are) lent\b|\bsends? nobody\b|\bknows? nothing of\b|\bneeds? not know\b|\bneed not know\b",
        "name the action",
    ),
    "goes-before": (r"\bgo(es)? before (it|them|its|what)\b", "overrides, takes precedence over"),
    "in-words": (r"\bin words\b", "as text"),
    "accounts": (r"\b(keeps? an? account|no account|accounts? to the byte)\b", "tracks"),
    "fronted": (
        r"(^|[.;:] )(Of|To|On|In|With|Without|Below|Beside|Behind) [^,.;:]{3,60}? "
        r"(is|are|was|were|stands?|has|have|tells?|goes|go|travel|lies?) "
        r"(the|a|an|it|no|its|what|all|none|nobody|told)\b",
        "subject first",
    ),
    "fronted-adj": (
        r"(^|[.;:] )\*?(Simulated|Exact|exact|Modelled|modelled|Missing|Common)\*? (is|are) ",
        "subject first",
    ),
    "once-a": (r"\bonce a (signature|second|machine|session|step|cell)\b", "once per …"),
    "fraction": (
        r"\ba (third|fourth|fifth|sixth|seventh|eighth|ninth|tenth) less\b|\b(six|seven|eight|nine) tenths\b"
        r"|\btwo thirds of the time\b",
        "30 % faster",
    ),
    "the-most": (r"\bat the most\b", "at most"),
    "people-verbs": (
        r"\b(nobody|somebody) (looks|asks|listens|reads|watches|hears)\b|\bwhere nobody listens\b|\bwhen somebody\b",
        "when no observer is registered; on request",
    ),
    "owner": (
        r"\bof (PyTorch|CuPy|JAX|Python|pytest|TensorFlow|Keras|Dask)'s\b|\b(marks|tests?) of pytest\b",
        "PyTorch's …, pytest markers",
    ),
    "wordy-how": (r"\bhow (it is|they are) (done|called)\b", "how it works, what it is called"),
    "not-here": (
        r"\b(is|are) not (here|there)\b|\bthat (is|are) not (here|there)\b|\bdevices? (here|there are)\b",
        "does not exist, is not available, available devices",
    ),
}
"""The rules by name: a pattern, and what to write instead."""

_PATTERNS = {name: re.compile(pattern, re.MULTILINE) for name, (pattern, _) in RULES.items()}
_QUOTED = re.compile(r"`[^`\n]*`|\"[^\"\n]{0,80}\"|https?://\S+")
_FOLDERS_LEFT_OUT = {"__pycache__", ".git", "node_modules", "build", ".venv", "tests", "locale", "ja", "zh_CN"}
_SHORTEST = 4
"""Minimum number of words: shorter strings and comments are names rather than sentences."""
_EDITORS_CHOICE = "words: ok"
"""A line that contains this marker is not reported."""


class Text(NamedTuple):
    """A piece of prose with its file, its place (such as README or messages), and its line or cell."""

    path: Path
    place: str
    line: int
    text: str


class Phrase(NamedTuple):
    """A phrase to change, and the rule that found it."""

    text: Text
    rule: str

    def __str__(self) -> str:
        path, _, line, text = self.text
        return f"{path.relative_to(ROOT)}:{line}: {self.rule}: {' '.join(text.split())[:140]}  → {RULES[self.rule][1]}"


def phrases(text: str) -> Iterator[str]:
    """Yields the names of the rules that a text breaks; ignores code, quotations and addresses."""
    if _EDITORS_CHOICE not in text:
        prose = _QUOTED.sub("X", text)
        yield from (name for name, pattern in _PATTERNS.items() if pattern.search(prose))


def all_phrases(root: Path = ROOT) -> list[Phrase]:
    """Returns every phrase of the project that should change."""
    return [Phrase(text, rule) for text in all_texts(root) for rule in phrases(text.text)]


def all_texts(root: Path) -> Iterator[Text]:
    """Yields the prose of a folder, line by line, except tests and translations."""
    readers = {".py": _of_python, ".ipynb": _of_notebook, ".md": _of_markdown, ".json": _of_labels}
    for path in sorted(root.rglob("*")):
        folders = set(path.relative_to(root).parts)
        if path.suffix in readers and path.is_file() and not folders & _FOLDERS_LEFT_OUT:
            yield from readers[path.suffix](path)


def _of_python(path: Path) -> Iterator[Text]:
    source = path.read_text(encoding="utf-8")
    strings = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Expr | ast.Constant)]
    docstrings = {id(node.value): node.value for node in strings if isinstance(node, ast.Expr)}
    for node in docstrings.values():
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            for number, line in enumerate(node.value.splitlines()):
                if ">>>" not in line:
                    yield Text(path, "docstrings", node.lineno + number, line)
    for node in strings:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            if len(node.value.split()) >= _SHORTEST:
                yield Text(path, "messages", node.lineno, node.value)
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT and len(token.string.split()) >= _SHORTEST:
            yield Text(path, "comments", token.start[0], token.string)


def _of_notebook(path: Path) -> Iterator[Text]:
    for number, cell in enumerate(json.loads(path.read_text(encoding="utf-8")).get("cells", [])):
        if cell["cell_type"] == "markdown":
            for line in "".join(cell["source"]).splitlines():
                yield Text(path, "lessons", number, line)


def _of_markdown(path: Path) -> Iterator[Text]:
    place = path.stem if path.stem in ("README", "CHANGELOG") else "docs"
    fenced = False
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        fenced ^= line.lstrip().startswith("```")
        if not fenced:
            yield Text(path, place, number, line)


def _of_labels(path: Path) -> Iterator[Text]:
    is_help = path.name in ("commands.json", "magics.json", "variables.json")
    if is_help or (path.name == "en.json" and path.parent.name == "words"):
        for label in _leaves(json.loads(path.read_text(encoding="utf-8"))):
            yield Text(path, "labels", 0, label)


def _leaves(value: Any) -> Iterator[str]:
    """Yields the strings of nested dictionaries and lists; terms are single words."""
    match value:
        case dict():
            for key, inner in value.items():
                if key != "terms":
                    yield from _leaves(inner)
        case list():
            for inner in value:
                yield from _leaves(inner)
        case _:
            yield str(value)


def main() -> None:
    """Prints the counts, or every phrase."""
    found = all_phrases()
    if "--list" in sys.argv:
        print(*found, sep="\n")
        return
    for title, counts in (
        ("place", Counter(phrase.text.place for phrase in found)),
        ("rule", Counter(phrase.rule for phrase in found)),
    ):
        print(f"{title:14}phrases")
        for name, count in counts.most_common():
            print(f"{name:14}{count:7}  {RULES[name][1] if name in RULES else ''}".rstrip())
    print("total", len(found))


if __name__ == "__main__":
    main()
