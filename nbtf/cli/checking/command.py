"""`nbtf notebooks check`: which options does it have, and what do they do?"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from nbtf._arguments import add_arguments
from nbtf._devices.discovery import SIMULATED_GPUS, machine_from_environment
from nbtf._install import VERSION, pip_install
from nbtf._storage import files
from nbtf.cli.arguments import add_parser, share, texts_of, whole_number, worded
from nbtf.cli.checking.annotations import commands
from nbtf.cli.checking.json_report import as_json
from nbtf.cli.checking.junit import junit
from nbtf.cli.checking.last_failed import cache_file, chosen_again, remember
from nbtf.cli.checking.notebook_check import Plan
from nbtf.cli.checking.progress import progress
from nbtf.cli.checking.report import require_free, write_report
from nbtf.cli.checking.sanitizing import ANNOUNCEMENT, BUILT_IN, read_rules
from nbtf.cli.checking.schedule import check_all
from nbtf.cli.checking.settings import Settings, find_settings, read_settings
from nbtf.cli.checking.text import coloured, last_line, lines_of
from nbtf.cli.checking.updating import update
from nbtf.cli.checking.verdicts import NotebookVerdict
from nbtf.cli.command_error import CommandError, require, writing
from nbtf.cli.execution import START_SECONDS
from nbtf.cli.limits import Limits, kinds_that_vary
from nbtf.cli.notebook_choice import notebooks_in
from nbtf.cli.parsing import CommandParser
from nbtf.cli.recording import CELL_SECONDS

INSTALL = pip_install("ci")

OF_DEVICES = ("--gpus", "--redirect")
"""Options that `nbtf-check` does not have."""

SECONDS = whole_number("seconds")
"""Reads the time limit of a cell."""


def add_command(commands: Any) -> None:
    """Adds `check` to the commands of `nbtf notebooks`."""
    add_parser(commands, "notebooks check", run, **_types())


def parser_of_check() -> CommandParser:
    """Returns the parser of `nbtf-check`, which lacks the options for devices."""
    arguments, _ = texts_of("notebooks check")
    _, texts = texts_of("nbtf-check")
    parser = CommandParser(prog="nbtf-check", **texts)
    parser.add_argument("--version", action="version", version=f"nbtf {VERSION}")
    add_arguments(parser, [each for each in arguments if each["flags"] not in OF_DEVICES], **_types())
    parser.set_defaults(command=run, gpus=None, redirect=None)
    return parser


def _types() -> dict[str, Any]:
    types: dict[str, Any] = {"jobs": _jobs, "timeout": SECONDS, "startup_timeout": SECONDS, "gpus": worded(gpus)}
    types |= {"tolerance": worded(share), "pictures": worded(share), "vary": worded(kinds_that_vary)}
    return types | {"lax": {"default": None}, "strict": {"default": None}}


def run(chosen: argparse.Namespace) -> int:
    """Checks the notebooks, prints a verdict on each, and returns the exit status."""
    require(["nbclient", "nbformat", "ipykernel"], "nbtf notebooks check", INSTALL)
    settings = read_settings(chosen.config) if chosen.config else find_settings(Path.cwd())
    exclude = [*settings.options.get("exclude", ()), *(chosen.exclude or ())]
    say_text: Callable[[str], None] = (lambda line: None) if chosen.json else say
    paths = notebooks_in(chosen.paths, exclude, say_text)
    cache = cache_file(os.environ)
    if chosen.lf:
        paths = chosen_again(paths, cache)
    if chosen.report is not None:
        require_free(chosen.report, paths)
    plan = plan_of(chosen, settings, paths)
    failures: list[str] = []
    with progress(len(paths)) as cell_ended:
        plan = replace(plan, tell_cell=cell_ended)
        tell = partial(_tell, chosen=chosen, failures=failures, say_text=say_text)
        verdicts = check_all(paths, plan, chosen.jobs, tell, chosen.fail_fast)
    if chosen.json:
        say(as_json(verdicts))
    say_text(last_line(verdicts, len(paths) - len(verdicts)))
    for write in _writers(chosen, verdicts, cache):
        _attempt(write, failures)
    statuses = [verdict.status for verdict in verdicts]
    return 2 if failures else max(statuses, default=0)


def _tell(
    verdict: NotebookVerdict, chosen: argparse.Namespace, failures: list[str], say_text: Callable[[str], None]
) -> None:
    if chosen.update:
        _attempt(lambda: update(verdict), failures)
    for line in lines_of(verdict):
        say_text(coloured(line))
    if chosen.github:
        for line in commands(verdict):
            say(line)


def _attempt(write: Callable[[], None], failures: list[str]) -> None:
    """Writes a report; a failure is reported at once and sets the exit status."""
    try:
        write()
    except CommandError as error:
        failures.append(str(error))
        print(f"nbtf: {error}", file=sys.stderr, flush=True)


def _writers(chosen: argparse.Namespace, verdicts: list[NotebookVerdict], cache: Path) -> Iterable[Callable[[], None]]:
    """Yields functions that write the requested reports and remember the outcome."""
    if chosen.report is not None:
        yield lambda: write_report(chosen.report, verdicts)
    if chosen.junit is not None:
        yield lambda: _write_junit(chosen.junit, verdicts)
    yield lambda: remember(verdicts, cache)


def _write_junit(file: Path, verdicts: list[NotebookVerdict]) -> None:
    with writing(file):
        files.make_folder(file.resolve().parent)
        files.write(file, junit(verdicts))


def plan_of(chosen: Any, settings: Settings, paths: Iterable[Path]) -> Plan:
    """Returns the plan for checking notebooks.

    Args:
      chosen: the options on the command line; None for those not given.
      settings: the options in the project's file, used for options not given on the command line.
      paths: the notebooks.

    Raises:
      CommandError: if a setting in the file is invalid.
    """

    def option(name: str) -> Any:
        typed = getattr(chosen, name)
        return settings.options.get(name) if typed is None else typed

    machine, redirected = option("gpus"), option("redirect")
    try:
        if machine is not None:
            gpus(machine)
    except ValueError as error:
        raise CommandError(f"gpus in the settings: {error}") from error
    if redirected not in (None, "tensorflow"):
        raise CommandError(f"redirect in the settings is {redirected!r}; expected 'tensorflow'")
    seconds, startup_seconds = option("timeout"), option("startup_timeout")
    is_strict = bool(option("strict"))
    built_in, announced = [] if is_strict else [BUILT_IN], [] if machine is None else [ANNOUNCEMENT]
    try:
        vary = kinds_that_vary(option("vary") or ())
    except ValueError as error:
        raise CommandError(f"vary in the settings: {error}") from error
    return Plan(
        {**os.environ, **({} if machine is None else {SIMULATED_GPUS: machine})},
        CELL_SECONDS if seconds is None else seconds or None,
        [*announced, *read_rules([*built_in, *settings.sanitize, *(chosen.sanitize or ())])],
        Limits(option("tolerance") or 0.0, option("pictures") or 0.0, vary),
        {path: limits for path in paths if (limits := settings.limits_of(path))},
        redirected is not None,
        bool(option("lax")),
        is_strict,
        option("kernel"),
        startup_seconds or START_SECONDS,
    )


def say(line: str) -> None:
    """Prints a line immediately.

    Raises:
      CommandError: if standard output cannot be written; a closed pipe is handled elsewhere.
    """
    try:
        print(line, flush=True)
    except BrokenPipeError:
        raise
    except OSError as error:
        with contextlib.suppress(OSError):
            sys.stdout.close()  # the buffered text cannot be written either
        raise CommandError(f"cannot write to standard output: {error.strerror}") from error


def gpus(text: str) -> str:
    """Returns the value for the environment variable that simulates GPUs.

    >>> gpus("4xA100-40GB")
    '4xA100-40GB'
    """
    try:
        machine_from_environment({SIMULATED_GPUS: text})
    except ValueError as error:
        raise ValueError(str(error).replace(f"{SIMULATED_GPUS} is ", "", 1)) from error
    return text


def _jobs(text: str) -> int:
    if text == "auto":
        return os.cpu_count() or 1
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"expected a number of notebooks or 'auto', got {text!r}")
    return int(text)
