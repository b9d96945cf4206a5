"""`python -m tests.error_texts.hostile`: is every text explained or not recognised, without another error or a hang?

Makes texts from pieces of error messages by a grammar: cut, repeated, nested, with absurd numbers, and with foreign
characters. Every text is explained and reported in every language. The exit status is 1 after an error, or if a text
needs too many steps.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from random import Random

from nbtf._error_texts import error_table, placements, torch_memory
from nbtf._error_texts.other_memory import MESSAGES
from nbtf._error_texts.recognition import MOST, explain
from nbtf.notebook.error_reports.text import report
from tests.error_texts.disguises import ON_SENTENCES
from tests.error_texts.generation import matching
from tests.error_texts.messages import CASES, UNKNOWN

COUNT = 100_000
PATTERNS = (
    *(wording.pattern for wording in error_table.WORDINGS),
    *(message.pattern for message in MESSAGES for _ in range(5)),
    *(wording.pattern for wording in placements.WORDINGS for _ in range(3)),
    torch_memory._ASYNC,
    *(re.compile(rf"CUDAoutofmemory\.{torch_memory._HEAD.pattern}{torch_memory._OLD.pattern}") for _ in range(5)),
    *(
        re.compile(
            rf"(CUDA|HIP|XPU)outofmemory\.{torch_memory._HEAD.pattern}{torch_memory._CAPACITY.pattern}"
            rf"(?:{torch_memory._OTHER.pattern}){{0,3}}(?:{torch_memory._PROCESS.pattern})?"
            rf"(?:{torch_memory._ALLOWED.pattern})?(?:{torch_memory._ALLOCATED.pattern})?"
        )
        for _ in range(20)
    ),
)
LANGUAGES = "en", "ja", "zh_CN"
NUMBER = re.compile(r"\d+(?:\.\d+)?")
ABSURD = ("0", "-1", "1e99", "9" * 25, "0.000000", "1,2,3", "٣", "NaN", "1" * 300, "0x7f", "", "1.2.3", "²", "12\n34")
JUNK = (
    "\x00",
    "\x1b[",
    "\x1b]0;",
    "\ud800",
    "\u202e",
    "\uff5c",
    "|",
    "\r",
    "\t" * 9,
    "&#x1F600;",
    "&lt;",
    "`",
    "(",
    "{n}",
    "%s",
    "\\",
)


def hostile_text(random: Random) -> str:
    """Returns a text from pieces of messages."""
    pieces = [_piece(random) for _ in range(random.choice((1, 1, 1, 2, 3, 8)))]
    return random.choice(("\n", " ", "", "\r\n", "\n\n| "))[: random.randrange(4)].join(pieces)


def _piece(random: Random) -> str:
    if random.random() < 0.5:
        text = matching(random.choice(PATTERNS), random)
    else:
        text = random.choice(CASES).text if random.random() < 0.9 else random.choice(UNKNOWN)
    for _ in range(random.randrange(4)):
        text = random.choice(_CHANGES)(text, random)
    return text[:20_000]


def _number(text: str, random: Random) -> str:
    return NUMBER.sub(lambda match: random.choice(ABSURD) if random.random() < 0.3 else match[0], text)


def _cut(text: str, random: Random) -> str:
    return text[random.randrange(len(text) + 1) :] if random.random() < 0.5 else text[: random.randrange(len(text) + 1)]


def _repeat(text: str, random: Random) -> str:
    start = random.randrange(len(text) + 1)
    part = text[start : start + random.randrange(60)]
    return text[:start] + part * random.randrange(40) + text[start:]


def _junk(text: str, random: Random) -> str:
    at = random.randrange(len(text) + 1)
    return text[:at] + random.choice(JUNK) * random.randrange(1, 5) + text[at:]


def _swap(text: str, random: Random) -> str:
    words = text.split(" ")
    random.shuffle(words)
    return " ".join(words)


def _disguise(text: str, random: Random) -> str:
    return random.choice(ON_SENTENCES)(text, random)


def _nest(text: str, random: Random) -> str:
    at = random.randrange(len(text) + 1)
    return text[:at] + random.choice(CASES).text + text[at:]


_CHANGES = (_number, _number, _cut, _repeat, _junk, _swap, _disguise, _nest)


def check(text: str) -> int:
    """Explains and reports a text; returns the number of its messages."""
    explanation = explain(text)
    assert len(explanation.findings) <= MOST
    for language in LANGUAGES:
        shown = report(explanation, language)
        assert shown
        assert len(shown) < 400_000
    assert explanation.plain()["recognised"] == bool(explanation.findings)
    return len(explanation.findings)


def main() -> int:
    """Explains many texts; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=COUNT)
    parser.add_argument("--seed", type=int, default=0, help="seed of the first text; later texts count up")
    chosen = parser.parse_args()
    found: Counter[int] = Counter()
    errors = 0
    for seed in range(chosen.seed, chosen.seed + chosen.count):
        try:
            found[check(hostile_text(Random(seed)))] += 1
        except Exception as error:
            errors += 1
            print(f"seed {seed}: {type(error).__name__}: {error}", file=sys.stderr)
    recognised = sum(count for number, count in found.items() if number)
    print(f"{chosen.count:,} texts: {recognised:,} with messages, {found[0]:,} not recognised, {errors} errors")
    return 1 if errors or not recognised or not found[0] else 0


if __name__ == "__main__":
    sys.exit(main())
