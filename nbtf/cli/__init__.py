"""The `nbtf` command of a shell: `nbtf lab`, `run`, `predict`, `view`, `devices`, `top` and others."""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Sequence

from nbtf.cli import completion, devices, diff, doctor, explain, lab, metrics, notebooks, predict, run, site, top, view
from nbtf.cli.checking import command as checking
from nbtf.cli.command_error import CommandError
from nbtf.cli.completion import complete
from nbtf.cli.parsing import CommandParser
from nbtf.cli.printable import printable, write_out_foreign_letters
from nbtf.cli.program import split_arguments
from nbtf.runtime import version


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit status.

    Args:
      arguments: the words after `nbtf`; None reads them from the command line.

    Returns:
      0 on success; 1 if a notebook's cell failed, `nbtf doctor` found a problem or `nbtf diff` a difference; 2 if the
      command could not be carried out; 130 after Ctrl-C; 141 if the program reading its output closed the pipe.
    """
    return _run(_parser(), arguments)


def check(arguments: Sequence[str] | None = None) -> int:
    """Runs `nbtf-check`, which is `nbtf notebooks check` without the options for devices; returns the exit status."""
    return _run(checking.parser_of_check(), arguments)


def _run(parser: CommandParser, arguments: Sequence[str] | None) -> int:
    write_out_foreign_letters(sys.stdout)
    complete(parser)
    words, of_program = split_arguments(sys.argv[1:] if arguments is None else arguments)
    chosen = parser.read(words, argparse.Namespace(program_arguments=of_program))
    try:
        status = chosen.command(chosen)
        sys.stdout.flush()
        return status
    except CommandError as error:
        print(printable(f"nbtf: {error}"), file=sys.stderr)
        return 2
    except BrokenPipeError:  # the reading program, such as `head`, has closed the pipe
        with contextlib.suppress(BrokenPipeError):
            sys.stdout.close()
        return 141
    except KeyboardInterrupt:
        print("nbtf: stopped", file=sys.stderr)
        return 130


def _parser() -> CommandParser:
    parser = CommandParser(
        prog="nbtf",
        description="TensorFlow's device API on NumPy, real GPUs and simulated GPUs, made visible in Jupyter.",
        epilog="Where to start: nbtf lab",
    )
    parser.add_argument("--version", action="version", version=f"nbtf {version}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")

    def show_commands(chosen: argparse.Namespace) -> int:
        """Prints the help when `nbtf` is called without a command."""
        parser.exit(2, parser.format_help())

    parser.set_defaults(command=show_commands)
    for module in (lab, run, predict, view, explain, diff, devices, top, metrics, doctor, notebooks, site, completion):
        module.add_command(commands)
    return parser
