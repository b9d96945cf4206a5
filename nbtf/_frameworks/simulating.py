"""Which libraries beside nbtf use its simulated GPUs?"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nbtf._runtime.configuration import Configuration

_NAMES = {"torch": "PyTorch"}


def simulated_libraries(frameworks: str | Sequence[str]) -> tuple[str, ...]:
    """Returns the libraries that somebody names.

    Args:
      frameworks: a name, several with commas between them, or a sequence of names.

    Raises:
      ValueError: a library that cannot have simulated GPUs.

    >>> simulated_libraries("torch"), simulated_libraries([])
    (('torch',), ())
    """
    listed = frameworks.split(",") if isinstance(frameworks, str) else frameworks
    names = tuple(dict.fromkeys([name.strip().lower() for name in listed if name.strip()]))
    unknown = [name for name in names if name not in _NAMES]
    if unknown:
        raise ValueError(
            f"There are no simulated GPUs for {', '.join(map(repr, unknown))}; expected {', '.join(map(repr, _NAMES))}."
        )
    return names


def library_names(libraries: Sequence[str]) -> str:
    """Returns what their users call them.

    >>> library_names(["torch"])
    'PyTorch'
    """
    return " and ".join([_NAMES[library] for library in libraries])


def share_simulated_gpus(libraries: Sequence[str], configuration: Configuration) -> None:
    """Gives libraries the simulated GPUs of a configuration, and takes them from the others.

    A library that nobody has imported gets them when it is imported.

    Raises:
      NotImplementedError: a build of a library does not let its GPUs be simulated.
    """
    name = "nbtf._frameworks.torch.simulation.switch"
    if "torch" not in libraries and name not in sys.modules:
        return
    from nbtf._frameworks.torch.simulation.switch import SWITCH  # late: `import nbtf` does without it

    used = [configuration.cards[device] for device in configuration.used("GPU")] if "torch" in libraries else []
    SWITCH.on([card for card in used if card.simulated])
