"""How do logs and forums change an error text? Prefixes, colours, wrapped lines, escaped characters."""

from __future__ import annotations

import html
from collections.abc import Callable
from random import Random

Disguise = Callable[[str, Random], str]


def in_traceback(text: str, random: Random) -> str:
    frame = f'  File "train.py", line {random.randrange(1, 900)}\n    x = f(y)'
    return f"Traceback (most recent call last):\n{frame}\n{text}\n"


def in_log(text: str, random: Random) -> str:
    lines = [
        f"2024-05-0{random.randrange(1, 9)} 10:11:1{index % 10} INFO step {index} loss 0.25" for index in range(20)
    ]
    return "\n".join([*lines, text, *lines])


def by_rank(text: str, random: Random) -> str:
    return "\n".join(f"[rank{random.randrange(8)}]: {line}" for line in text.split("\n"))


def coloured(text: str, random: Random) -> str:
    words = text.split(" ")
    chosen = random.randrange(len(words))
    words[chosen] = f"\x1b[31m{words[chosen]}\x1b[0m"
    return "\x1b[1m" + " ".join(words) + "\x1b[0m"


def wrapped(text: str, random: Random) -> str:
    """At a width, even in the middle of a word, as terminals do."""
    width = random.randrange(60, 140)
    return "\n".join(line[at : at + width] for line in text.split("\n") for at in range(0, len(line) or 1, width))


def boxed(text: str, random: Random) -> str:
    """In the box that a library draws around tracebacks, wrapped between words."""
    lines = wrapped(text, random).split("\n")
    return "\n".join(f"│ {line.ljust(140)} │" for line in lines)


def quoted(text: str, random: Random) -> str:
    return "\n".join(f"> {line}" for line in text.split("\n"))


def crlf(text: str, random: Random) -> str:
    return text.replace("\n", "\r\n")


def escaped(text: str, random: Random) -> str:
    return html.escape(text)


ON_LINES: tuple[Disguise, ...] = (in_traceback, in_log, coloured, crlf, escaped)
"""What leaves each line as it is, as tables need it."""
ON_SENTENCES: tuple[Disguise, ...] = (*ON_LINES, by_rank, wrapped, boxed, quoted)
