"""What does a notebook show below a cell that ran out of GPU memory? What would make the request fit, as a picture."""

from __future__ import annotations

import re
from functools import partial
from importlib import import_module
from typing import Any

from nbtf import errors, runtime
from nbtf.notebook.error_reports.tracebacks import shorten_tracebacks
from nbtf.notebook.session import Session, say


def add_out_of_memory_reports(session: Session) -> None:
    """Makes such cells end with a picture and the commands to use next, and shortens their tracebacks."""
    session.on_stop(session.hooks.add("post_run_cell", partial(_show, session)))
    session.on_stop(shorten_tracebacks(session.shell, lambda error: full_gpu(error) is not None))


def full_gpu(error: Any) -> str | None:
    """Returns the GPU whose memory is full according to an error of nbtf or another library; None for other errors."""
    if issubclass(type(error), errors.ResourceExhaustedError):
        match = re.search(r"\bGPU:\d+", error.message)
        return match[0] if match else None
    return next(filter(None, [library.full_card(error) for library in runtime.frameworks()]), None)


def _show(session: Session, result: Any) -> None:
    error = None if result is None else result.error_in_exec
    gpu = None if error is None else full_gpu(error)
    if gpu is not None:
        _draw(session, gpu)
        say(f"%gpu_memory --who lists what holds the memory of {gpu}. %explain explains the error.")


def _draw(session: Session, gpu: str) -> None:
    """Displays a picture of the failed request if the GPU is simulated."""
    show: Any = import_module("IPython.display").display
    from nbtf.notebook.stills.memory_pictures import Still, picture_of_failure  # imported late, as few cells fail

    names = [
        each.name
        for each in runtime.devices()
        if each.simulated and gpu in (each.name, None if each.cuda is None else f"cuda:{each.cuda}")
    ]
    failure = picture_of_failure(session, names[0]) if names else None
    if failure is not None:
        show(Still(failure.picture))
