"""`nbtf run PROGRAM.py`: runs a program here. `import tensorflow` means nbtf, or PyTorch has simulated GPUs."""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

from nbtf._as_tensorflow.presentation import present_as_tensorflow
from nbtf._devices.discovery import SIMULATED_GPUS
from nbtf._devices.machines import simulated_machine
from nbtf._frameworks.simulating import share_from_environment
from nbtf._runtime.context import CURRENT
from nbtf._storage.reading import read_bytes
from nbtf.cli.command_error import CommandError, reading
from nbtf.cli.libraries import imports_torch, simulate_for

ENDING = ".py"
_OF_NOTEBOOKS = {"library": "--with", "compare": "--compare", "output": "--output", "json": "--json"}
_IMPORTS_TENSORFLOW = re.compile(r"^[^\S\n]*(?:import|from)\s+(?:tensorflow|keras)\b", re.MULTILINE)


def split_arguments(arguments: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    """Returns the arguments of `nbtf` and those of the program that it runs: all after the program's name.

    >>> split_arguments(["run", "--gpus", "2", "train.py", "--lr", "0.1"])
    (['run', '--gpus', '2', 'train.py'], ['--lr', '0.1'])
    """
    if not arguments or arguments[0] != "run":
        return arguments, []
    end = next((number for number, word in enumerate(arguments, 1) if word.endswith(ENDING)), len(arguments))
    return arguments[:end], arguments[end:]


def run_program(chosen: argparse.Namespace) -> int:
    """Runs the program to its end; an error in it is raised as it would be without nbtf.

    Raises:
      CommandError: if an option has no meaning for a program, the file cannot be read, or TensorFlow is imported.
    """
    program: Path = chosen.notebook
    wrong = [flag for name, flag in _OF_NOTEBOOKS.items() if getattr(chosen, name)]
    if wrong or chosen.tf1:
        raise CommandError(f"{(wrong or ['--tf1'])[0]} is for notebooks. With a program, only --gpus has a meaning.")
    with reading(program):
        source = read_bytes(program)
    if chosen.gpus is not None:
        os.environ[SIMULATED_GPUS] = str(chosen.gpus)
    text = source.decode("utf-8", "replace")
    if imports_torch([text]):
        _simulate_for_torch(text, chosen.gpus)
    if _IMPORTS_TENSORFLOW.search(text) or not imports_torch([text]):
        try:
            present_as_tensorflow()
        except RuntimeError as error:
            raise CommandError(str(error)) from error
    sys.argv[:] = [str(program), *chosen.program_arguments]
    sys.path.insert(0, str(program.resolve().parent))
    _run_as_main(source, str(program))
    return 0


def _simulate_for_torch(source: str, gpus: int | None) -> None:
    """Gives PyTorch its simulated GPUs; NBTF_SIMULATE may have done it when nbtf was imported, with another number."""
    configuration = CURRENT.context.configuration
    added = simulate_for([source], os.environ)
    os.environ.update(added)
    if gpus is not None:
        configuration.use(simulated_machine(gpus))
    if added or gpus is not None:
        share_from_environment()


def _run_as_main(source: bytes, file: str) -> None:
    """Runs code as the module `__main__`."""
    module = ModuleType("__main__")
    module.__file__ = file
    earlier_module = sys.modules["__main__"]
    sys.modules["__main__"] = module
    try:
        exec(compile(source, file, "exec", dont_inherit=True), vars(module))
    finally:
        sys.modules["__main__"] = earlier_module
