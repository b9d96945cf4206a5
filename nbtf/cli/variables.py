"""Which environment variables does nbtf have, and are their values valid?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from nbtf._devices.discovery import SIMULATED_GPUS, machine_from_environment
from nbtf.cli.finding import Finding


class Variable(NamedTuple):
    """An environment variable: its name, its effect, and its possible values; empty if any value is possible."""

    name: str
    purpose: str
    words: tuple[str, ...] = ()


_YES_OR_NO = ("1", "0", "true", "false", "on", "off", "yes", "no")

VARIABLES = (
    Variable(
        SIMULATED_GPUS,
        "Simulates GPUs without a line of code: a number of GPUs, or a number and a card, as in `4xTesla K20m`; or "
        "hosts with GPUs, as in `16x8xH100` or `16x8xH100,25Gb/s`. `tf.runtime.simulate_gpus` and `simulate_cluster` "
        "override it.",
    ),
    Variable(
        "NBTF_SIMULATE",
        "Makes the simulated GPUs available to another library: with `torch`, PyTorch has them as `cuda:0` and so on "
        "as soon as nbtf is imported.",
        ("torch",),
    ),
    Variable("NBTF_GPU", "Whether available real GPUs are used; `auto` when not set.", ("auto", "off")),
    Variable(
        "NBTF_GPU_PREALLOCATE",
        "Reserves nearly all memory of real GPUs at their first use, as TensorFlow does. Otherwise the pool grows.",
        _YES_OR_NO,
    ),
    Variable(
        "NBTF_GPU_ALLOCATOR",
        "The allocator for real GPUs: CuPy's pool, or TensorFlow's allocator, which has a memory map; `pool` when not "
        "set.",
        ("pool", "bfc"),
    ),
    Variable("NBTF_SYNC", "Waits for each operation on a real GPU, to find the one that fails.", _YES_OR_NO),
    Variable(
        "NBTF_LIVE",
        "How live views are updated: from a thread, between two operations if threads are not available, or not at "
        "all. The views choose when it is not set.",
        ("thread", "inline", "off"),
    ),
    Variable(
        "NBTF_LANG",
        "The language of the views: `en`, `ja` or `zh_CN`. When not set, the language of the lesson or the page around "
        "them; English if it has no translation.",
    ),
)


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
