"""Which functions do what the magics do, for scripts, marimo and other places without magics?

A function has the name of its magic. A cell magic becomes a `with` block; if a line magic has the same name, the name
of the block ends in `_block`. Words without a dash are arguments, options are keywords: `%gpu_memory GPU:1 --who` is
`gpu_memory("GPU:1", who=True)`. Function and magic share one implementation, and its errors.
"""

from __future__ import annotations

import sys
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from typing import Any, cast

from nbtf.notebook.magics.cell_magics import CellMagic, LineMagic
from nbtf.notebook.magics.register import add_magics
from nbtf.notebook.session import Session, current_session
from nbtf.notebook.usage_error import UsageError


def check(*names: str, **options: Any) -> None:
    """Checks answers to the exercises and questions of the lessons, and prints the results; see `%check`.

    Args:
      *names: an exercise, or a question and your choice; without any, the exercises are listed.
      **options: `help=True` prints the help.

    Raises:
      UsageError: if an option does not exist.

    >>> tf.notebook.check("nothing_like_it")  # doctest: +ELLIPSIS
    Not yet: no exercise or question is called 'nothing_like_it'. Exercises: one_character, ...
    """
    _line("check", names, options)


def cluster(*words: str, **options: Any) -> Any:
    """Starts or stops real processes as tasks of a cluster, or returns a table of their state; see `%cluster`.

    Args:
      *words: `"start"`, `"status"` or `"stop"`; after `"start"`, settings such as `"worker=2"`.
      **options: `help=True` prints the help.

    Raises:
      UsageError: if a word or an option does not exist, or the cluster cannot be started.

    >>> tf.notebook.cluster("status")
    This notebook is not connected to a cluster. To start one: %cluster start worker=2 gpus=2
    """
    return _line("cluster", words, options)


def device(*spec: str, **options: Any) -> Any:
    """Returns the device for ops outside any `tf.device` block, or sets it; see `%device`.

    Args:
      *spec: a device such as `"GPU:1"`, or `"auto"` for the automatic placement; without it, nothing is set.
      **options: `help=True` prints the help.

    Raises:
      UsageError: if an option does not exist, or `spec` is not the name of a device.

    >>> tf.notebook.device()
    CPU:0: automatic, no GPU available
    """
    return _line("device", spec, options)


def device_block(*spec: str, **options: Any) -> Any:
    """Returns a `with` block whose ops run on a device; see `%%device`.

    Args:
      *spec: a device such as `"GPU:1"`.
      **options: `soft`, `hard`, `log`, `summary` and `also`, as in `%%device`.

    Raises:
      UsageError: if an option does not exist, or there is no such device.

    >>> tf.runtime.restart()
    >>> _ = tf.runtime.simulate_gpus(2)
    2 simulated GPUs (Tesla V100-SXM2-16GB, 16 GiB each): NumPy on this computer's CPU. No GPU is used.
    >>> with tf.notebook.device_block("GPU:1", summary=True):
    ...     x = tf.zeros([1000])
    GPU:1 (simulated): 3 ops, +4,096 B (peak 5,632 B); no copies
    """
    return _block("device", spec, options)


def devices(**options: Any) -> Any:
    """Returns a table of the devices, or a map of them; see `%devices`.

    Args:
      **options: `physical`, `map`, `live`, `save`, `all`, `cluster` and `here`, as in `%devices`.

    Raises:
      UsageError: if an option does not exist.

    >>> tf.notebook.devices()
    device  kind  ops
    CPU:0   host    0
    No GPU is available: ops run on CPU:0.
    """
    return _line("devices", (), options)


def explain(text: str | None = None, **options: Any) -> Any:
    """Returns an explanation of an error text, or of the last error; see `%explain` and `%%explain`.

    Args:
      text: a traceback, a log or the output of `nvidia-smi`; None explains the last error of this program.
      **options: `help=True` prints the help.

    Raises:
      UsageError: if an option does not exist.

    >>> print(str(tf.notebook.explain("CUDA out of memory. Tried to allocate 2.00 GiB."))[:15])
    PyTorch, line 1
    """
    if text is None:
        return _line("explain", (), options)
    magic: CellMagic = _magics()["%%explain"]
    chosen = magic.options.read_words(_words((), options))
    assert magic.take is not None  # it never runs the cell
    return None if chosen is None else magic.take[1](chosen, text)


def gpu_memory(*specs: str, **options: Any) -> Any:
    """Returns the memory in use on each GPU, what holds it, or a picture of it; see `%gpu_memory`.

    Args:
      *specs: the GPUs to show, such as `"GPU:1"`; all if there are none.
      **options: `who`, `all`, `plane`, `stacked`, `treemap`, `file` and the other options of `%gpu_memory`.

    Raises:
      UsageError: if an option does not exist, or the words are not those of a GPU.

    >>> tf.runtime.restart()
    >>> _ = tf.runtime.simulate_gpus(1)
    1 simulated GPU (Tesla V100-SXM2-16GB, 16 GiB): NumPy on this computer's CPU. No GPU is used.
    >>> x = tf.zeros([1024, 1024])
    >>> tf.notebook.gpu_memory("GPU:0")
    device  kind       in use  of limit              peak    pool   limit
    GPU:0   simulated   4 MiB  █░░░░░░░░░ under 1 %  4 MiB  15 GiB  15 GiB
    """
    return _line("gpu_memory", specs, options)


def gpu_memory_block(**options: Any) -> Any:
    """Returns a `with` block that prints the memory it used on each GPU, and checks it; see `%%gpu_memory`.

    Args:
      **options: `at_most`, `kept` and `without`, as in `%%gpu_memory`.

    Raises:
      UsageError: if an option does not exist, or needs the text of a cell.
      ExpectationError: at the end of the block, if a check fails.

    >>> tf.runtime.restart()
    >>> _ = tf.runtime.simulate_gpus(1)
    1 simulated GPU (Tesla V100-SXM2-16GB, 16 GiB): NumPy on this computer's CPU. No GPU is used.
    >>> with tf.notebook.gpu_memory_block(at_most="1MiB"):
    ...     x = tf.zeros([1000])
    GPU:0 (simulated): peak 5,632 B, +4,096 B kept after the cell
    """
    return _block("gpu_memory", (), options)


def needs(*modules: str, **options: Any) -> bool:
    """Returns whether modules are installed; prints which are not; see `%%needs`.

    Args:
      *modules: names of modules, such as `"torch"`.
      **options: `help=True` prints the help.

    Raises:
      UsageError: if `modules` is empty, or an option does not exist.

    >>> if tf.notebook.needs("json"):
    ...     import json
    """
    magic: CellMagic = _magics()["%%needs"]
    words = _words(modules, options)
    chosen = magic.options.read_words(words)
    assert magic.take is not None  # it decides whether the cell runs
    if chosen is None or not magic.take[0](" ".join(words)):
        return chosen is not None
    magic.take[1](chosen, "")
    return False


def placement(**options: Any) -> Any:
    """Returns a `with` block that shows where its ops ran, and checks it; see `%%placement`.

    Args:
      **options: `table`, `diff`, `expect`, `no_copies` and `without`, as in `%%placement`; several values are a list.

    Raises:
      UsageError: if an option does not exist.
      ExpectationError: at the end of the block, if a check fails.

    >>> with tf.notebook.placement(expect=["Add*=CPU:0"], no_copies=True):
    ...     c = tf.add(1.0, 2.0)
    """
    return _block("placement", (), options)


def placement_log(*words: str, **options: Any) -> Any:
    """Returns where recorded ops ran and why, or controls the recorder; see `%placement_log`.

    Without the extension, recording starts with the first function of `tf.notebook` that needs it.

    Args:
      *words: `"on"`, `"off"`, `"show"`, `"table"`, `"clear"`, `"export"` with a file, `"watch"` or `"unwatch"` with a
        library.
      **options: `n`, `op`, `device`, `all` and `format`, as in `%placement_log`.

    Raises:
      UsageError: if a word or an option does not exist, or a file cannot be written.

    >>> tf.notebook.placement_log("clear")  # recording starts
    cleared 0 events
    >>> c = tf.add(1.0, 2.0)
    >>> tf.notebook.placement_log("table")
    op     device  count  bytes out  why
    AddV2  CPU:0       1        4 B  no GPU
    3 ops, 0 copies of tensors
    folded: 2 constants (`--all` shows them)
    """
    return _line("placement_log", words, options)


def _magics() -> dict[str, Any]:
    """Returns what each magic does in this program, by name."""
    return _session_with_magics().magics


def _session_with_magics() -> Session:
    session = current_session()
    if not session.magics:
        add_magics(session)
    return session


def _line(name: str, words: Iterable[object], options: dict[str, Any]) -> Any:
    """Returns the value of a line magic."""
    magic: LineMagic = _magics()[f"%{name}"]
    chosen = magic.options.read_words(_words(words, options))
    return None if chosen is None else magic.answer(chosen)


@contextmanager
def _block(name: str, words: Iterable[object], options: dict[str, Any]) -> Generator[None]:
    """Applies a cell magic to a block, which its place in the program identifies."""
    session = _session_with_magics()
    magic: CellMagic = session.magics[f"%%{name}"]
    as_words = _words(words, options)
    chosen = magic.options.read_words(as_words)
    if chosen is not None and magic.take is not None and magic.take[0](" ".join(as_words)):
        raise UsageError(f"%%{name}: this needs the text of a cell. For a program, run `nbtf predict FILE` in a shell.")
    with session.block(_place()):
        if chosen is not None:
            magic.begin(chosen)
        yield


def _place() -> str:
    """Returns file and line of the `with` statement that is running."""
    frame = sys._getframe(3)  # above this function, the block and `contextlib`
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


def _words(words: Iterable[object], options: dict[str, Any]) -> list[str]:
    """Returns the words that a user would type after the magic.

    >>> _words(["GPU:1"], {"who": True, "live": False, "at_most": "2GiB", "expect": ["MatMul=GPU:1", "Add=GPU:0"]})
    ['GPU:1', '--who', '--at-most=2GiB', '--expect', 'MatMul=GPU:1', 'Add=GPU:0']
    """
    typed = [str(word) for word in words]
    for name, value in options.items():
        flag = f"-{name}" if len(name) == 1 else f"--{name.replace('_', '-')}"
        if value is True:
            typed.append(flag)
        elif isinstance(value, list | tuple):
            typed += [flag, *map(str, cast("list[object]", value))]
        elif value is not None and value is not False:
            typed += [flag, str(value)] if len(name) == 1 else [f"{flag}={value}"]
    return typed
