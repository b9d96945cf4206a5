"""Which environment variables does nbtf have, and are their values valid?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from nbtf._devices.discovery import SIMULATED_GPUS, machine_from_environment
from nbtf._own_files import own_json
from nbtf.cli.finding import Finding


class Variable(NamedTuple):
    """An environment variable: its name, its effect, and its possible values; empty if any value is possible."""

    name: str
    purpose: str
    words: Sequence[str] = ()


VARIABLES = tuple(Variable(**described) for described in own_json("nbtf.cli", "variables.json"))


def variables(environ: Mapping[str, str]) -> Iterator[Finding]:
    """Yields a line for each variable that is set.

    Args:
      environ: the environment, as in `os.environ`.

    >>> [finding.text for finding in variables({"NBTF_LIVE": "fast"})]
    ["'fast'; expected thread, inline or off"]
    """
    for variable in VARIABLES:
        setting = environ.get(variable.name, "").strip()
        if setting:
            yield _simulated(environ) if variable.name == SIMULATED_GPUS else _finding(variable, setting)


def _finding(variable: Variable, setting: str) -> Finding:
    if (variable.name, setting) == ("NBTF_GPU", "off"):
        return Finding("note", variable.name, "off: real GPUs are not used; unset it, or set it to auto, to use them")
    if not variable.words or setting.lower() in variable.words:
        return Finding("ok", variable.name, setting)
    expected = f"{', '.join(variable.words[:-1])} or {variable.words[-1]}"
    return Finding("wrong", variable.name, f"{setting!r}; expected {expected}")


def _simulated(environ: Mapping[str, str]) -> Finding:
    try:
        machine = machine_from_environment(environ)
    except ValueError as error:
        return Finding("wrong", SIMULATED_GPUS, str(error).removeprefix(f"{SIMULATED_GPUS} is "))
    return Finding("ok", SIMULATED_GPUS, "No simulated GPUs." if machine is None else machine.sentence())
