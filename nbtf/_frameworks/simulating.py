"""Which libraries beside nbtf use its simulated GPUs?"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING

from nbtf._runtime.arguments import check_several, check_text

if TYPE_CHECKING:
    from nbtf._runtime.configuration import Configuration

SIMULATE = "NBTF_SIMULATE"
"""The environment variable that names the libraries."""

_OF_JAX = (
    " JAX can split this machine's CPU into several devices, which have no card memory: "
    "set XLA_FLAGS=--xla_force_host_platform_device_count=4 before importing it."
)
_NAMES = {"torch": "PyTorch"}


def simulated_libraries(frameworks: str | Sequence[str]) -> tuple[str, ...]:
    """Returns the libraries named by the user.

    Args:
      frameworks: a name, several names separated by commas, or a sequence of names.

    Raises:
      TypeError: if `frameworks` is neither a string nor a sequence of strings.
      ValueError: if a library cannot have simulated GPUs.

    >>> simulated_libraries("torch"), simulated_libraries([])
    (('torch',), ())
    """
    expected = "a library's name such as 'torch', or several"
    listed = frameworks.split(",") if isinstance(frameworks, str) else check_several(frameworks, "frameworks", expected)
    stripped = [check_text(name, "frameworks").strip().lower() for name in listed]
    names = tuple(dict.fromkeys(filter(None, stripped)))
    unknown = [name for name in names if name not in _NAMES]
    if unknown:
        refusal = f"No simulated GPUs for {', '.join(map(repr, unknown))}. Expected {', '.join(map(repr, _NAMES))}."
        raise ValueError(refusal + _OF_JAX * ("jax" in unknown))
    return names


def libraries_from_environment(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Returns the libraries that NBTF_SIMULATE names.

    Raises:
      ValueError: if the variable contains another name.

    >>> libraries_from_environment({"NBTF_SIMULATE": "torch"})
    ('torch',)
    """
    try:
        return simulated_libraries(environ.get(SIMULATE, ""))
    except ValueError as error:
        raise ValueError(f"{SIMULATE} is {environ[SIMULATE]!r}. {error}") from None


def library_names(libraries: Sequence[str]) -> str:
    """Returns the names that their users write.

    >>> library_names(["torch"])
    'PyTorch'
    """
    return " and ".join([_NAMES[library] for library in libraries])


def share_simulated_gpus(libraries: Sequence[str], configuration: Configuration) -> None:
    """Gives the simulated GPUs of a configuration to the named libraries, and removes them from all others.

    A library that has not been imported gets them at its import.

    Raises:
      NotImplementedError: if a library's build does not allow simulated GPUs.
    """
    configuration.shares_simulated_gpus = False
    name = "nbtf._frameworks.torch.simulation.switch"
    if "torch" not in libraries and name not in sys.modules:
        return
    cards = [configuration.cards[device] for device in configuration.used("GPU")] if "torch" in libraries else []
    from nbtf._frameworks.torch.simulation.switch import SWITCH  # imported late: `import nbtf` does not need it

    simulated_cards = [card for card in cards if card.simulated]
    configuration.shares_simulated_gpus = bool(simulated_cards)  # first, because it determines the names of the cards
    try:
        SWITCH.on(simulated_cards)
    except BaseException:
        configuration.shares_simulated_gpus = False
        raise


def names_of_devices(libraries: Sequence[str], count: int) -> str:
    """Returns a sentence with the device names in the libraries, and the libraries that are not installed.

    >>> names_of_devices(["torch"], 4).partition(". ")[0].rstrip(".")
    'PyTorch has them as cuda:0 to cuda:3 and computes with its own CPU ops'
    """
    names = "cuda:0" if count == 1 else f"cuda:0 to cuda:{count - 1}"
    missing = [library for library in libraries if library not in sys.modules and find_spec(library) is None]
    absence = f" {library_names(missing)} is not installed: pip install {' '.join(missing)}." if missing else ""
    return f"{library_names(libraries)} has them as {names} and computes with its own CPU ops.{absence}"


def share_from_environment() -> None:
    """Gives the libraries in NBTF_SIMULATE the GPUs in NBTF_SIMULATED_GPUS, and announces it once.

    Raises:
      ValueError: if one of the variables is invalid.
    """
    from nbtf._runtime.context import CURRENT

    configuration = CURRENT.context.configuration
    libraries = libraries_from_environment(configuration.environ)
    cards = [configuration.cards[device] for device in configuration.used("GPU")]
    if libraries and any([card.simulated for card in cards]):
        share_simulated_gpus(libraries, configuration)
        if configuration.machine is not None:
            text = f"nbtf: {configuration.machine.sentence()} {names_of_devices(libraries, len(cards))}"
            print(text, file=sys.stderr)  # noqa: T201  # the announcement
            configuration.is_announced = True
