"""Do our environment variables say what nbtf can read?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from nbtf._devices.discovery import SIMULATED_GPUS, machine_from_environment
from nbtf.cli.finding import Finding

WORDS: Mapping[str, tuple[str, ...]] = {
    "NBTF_LIVE": ("thread", "inline", "off"),
    "NBTF_GPU": ("auto", "off"),
}


def variables(environ: Mapping[str, str]) -> Iterator[Finding]:
    """Yields a line for each variable that is set.

    Args:
      environ: the environment, as in `os.environ`.

    >>> [finding.text for finding in variables({"NBTF_LIVE": "fast"})]
    ["'fast'; expected thread, inline or off"]
    """
    if environ.get(SIMULATED_GPUS, "").strip():
        yield _simulated(environ)
    for name, words in WORDS.items():
        setting = environ.get(name, "").strip()
        if setting:
            if (name, setting) == ("NBTF_GPU", "off"):
                yield Finding("note", name, "off: real GPUs are not used; leave it out, or say auto, to use them")
                continue
            expected = f"{', '.join(words[:-1])} or {words[-1]}"
            yield (
                Finding("ok", name, setting)
                if setting in words
                else Finding("wrong", name, f"{setting!r}; expected {expected}")
            )


def _simulated(environ: Mapping[str, str]) -> Finding:
    try:
        machine = machine_from_environment(environ)
    except ValueError as error:
        return Finding("wrong", SIMULATED_GPUS, str(error).removeprefix(f"{SIMULATED_GPUS} is "))
    return Finding("ok", SIMULATED_GPUS, "No simulated GPUs." if machine is None else machine.sentence())
