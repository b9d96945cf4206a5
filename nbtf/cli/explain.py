"""`nbtf explain`: what does an error text mean, what is the cause, and what should you type next?"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from nbtf._error_texts.cleaning import LONGEST
from nbtf._error_texts.recognition import explain as explanation_of
from nbtf._storage.reading import read_bytes
from nbtf.cli.arguments import add_parser
from nbtf.cli.command_error import CommandError, reading
from nbtf.cli.printable import columns, printable
from nbtf.notebook.error_reports.text import report

_STANDARD_INPUT = "-"


def add_command(commands: Any) -> None:
    """Adds `explain` to the command line."""
    add_parser(commands, "explain", explain)


def explain(chosen: argparse.Namespace) -> int:
    """Explains a text, prints the report and returns the exit status: 1 if no message was recognised."""
    try:
        explanation = explanation_of(_read(chosen.file))
    except ValueError as error:
        raise CommandError(f"cannot explain {chosen.file}: {error}") from error
    if chosen.json:
        print(json.dumps(explanation.plain(), indent=1))
    else:
        print(printable(report(explanation, chosen.language or "", columns())))
    return 0 if explanation.findings else 1


def _read(name: str) -> str:
    """Returns the text of a file or of standard input, whatever its encoding."""
    if name == _STANDARD_INPUT:
        return sys.stdin.buffer.read(4 * LONGEST).decode("utf-8", "replace")
    path = Path(name)
    with reading(path):
        content = read_bytes(path)
    encoding = "utf-16" if content[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    return content.decode(encoding, "replace")
