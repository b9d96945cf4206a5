"""`nbtf run PROGRAM.py`: runs a TensorFlow or Keras program in this process, where `import tensorflow` means nbtf."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from types import ModuleType

from nbtf._as_tensorflow.presentation import present_as_tensorflow
from nbtf._devices.discovery import SIMULATED_GPUS
from nbtf._storage.reading import read_bytes
from nbtf.cli.command_error import CommandError, reading

ENDING = ".py"
_OF_NOTEBOOKS = {"library": "--with", "compare": "--compare", "output": "--output", "json": "--json"}


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
    try:
        present_as_tensorflow()
    except RuntimeError as error:
        raise CommandError(str(error)) from error
    sys.argv[:] = [str(program)]
    sys.path.insert(0, str(program.resolve().parent))
    _run_as_main(source, str(program))
    return 0


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
