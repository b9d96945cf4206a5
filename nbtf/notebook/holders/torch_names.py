"""PyTorch names as users write them, instead of the dictionaries inside modules and optimizers."""

from __future__ import annotations

import re
from collections.abc import Sequence

IN_MODULE = re.compile(r"\._(?:modules|parameters|buffers)\['")

_STATE = re.compile(r"(.+)\.state\[<\w+>\]\['(\w+)'\]")


def tidy(name: str) -> str:
    """Returns a name as users write it, without the dictionaries in which PyTorch keeps a module's parts.

    >>> tidy("model._modules['seq']._modules['0']._parameters['weight']")
    'model.seq[0].weight'
    """
    name = re.sub(r"\._modules\['(\d+)'\]", r"[\1]", name)
    return re.sub(r"\._(?:modules|parameters|buffers)\['([^\W\d]\w*)'\]", r".\1", name)


def in_users_words(names: Sequence[str]) -> list[str]:
    """Returns the most informative of a tensor's names: those of module parts, if there are any.

    >>> in_users_words(["adam.param_groups[0]['params'][0]", "model._modules['0']._parameters['weight']"])
    ['model[0].weight']
    >>> in_users_words(["adam.state[<Parameter>]['exp_avg']"])
    ['adam: exp_avg']
    """
    in_modules = [tidy(name) for name in names if IN_MODULE.search(name)]
    states = [f"{match[1]}: {match[2]}" for match in map(_STATE.fullmatch, names) if match is not None]
    return in_modules or states or [tidy(name) for name in names]
