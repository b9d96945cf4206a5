"""`nbtf completion`: how does a shell complete commands and options? Prints the script that the shell loads."""

from __future__ import annotations

import argparse
import importlib
import os
from typing import Any

from nbtf._install import pip_install
from nbtf.cli.arguments import add_parser
from nbtf.cli.command_error import require

PROGRAMS = ["nbtf", "nbtf-check"]

ASKED = "_ARGCOMPLETE"
"""Environment variable with which a shell asks a program for completions. Source: argcomplete's documentation."""


def add_command(commands: Any) -> None:
    """Adds `completion` to the command line."""
    add_parser(commands, "completion", completion)


def completion(chosen: argparse.Namespace) -> int:
    """Prints the script."""
    require(["argcomplete"], "nbtf completion", pip_install("ci"))
    argcomplete: Any = importlib.import_module("argcomplete")  # an optional package
    print(argcomplete.shellcode(PROGRAMS, shell=chosen.shell))
    return 0


def complete(parser: argparse.ArgumentParser) -> None:
    """Answers a shell that asks for completions, and ends the program; does nothing otherwise."""
    if ASKED in os.environ:
        importlib.import_module("argcomplete").autocomplete(parser)
