"""What do functions, their frames and errors keep, and how is it told?"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from types import (
    AsyncGeneratorType,
    CellType,
    CoroutineType,
    FrameType,
    FunctionType,
    GeneratorType,
    MethodType,
    TracebackType,
)
from typing import Any

from nbtf.notebook.holders.introspection import class_dict, is_ours, items_of, kind_of, locals_of
from nbtf.notebook.holders.reference import OURS, Way, key_text


def of_function(thing: FunctionType) -> Iterator[tuple[object, Way]]:
    """Yields what a function keeps: its closure and its defaults."""
    code = thing.__code__
    yield thing.__closure__, Way(role="closure", names=code.co_freevars)
    defaults = thing.__defaults__ or ()
    arguments = code.co_varnames[: code.co_argcount]
    yield defaults, Way(role="defaults", names=arguments[len(arguments) - len(defaults) :])
    yield thing.__kwdefaults__, Way(role="keyword defaults")


def closure(thing: Any, names: tuple[str, ...]) -> Iterator[tuple[object, Way]]:
    """Yields the cells of a closure."""
    for index, cell in enumerate(thing):
        yield cell, Way(f".<closure> {names[index] if index < len(names) else index}")


def defaults(thing: Any, names: tuple[str, ...]) -> Iterator[tuple[object, Way]]:
    """Yields the defaults of arguments."""
    for index, value in enumerate(thing):
        yield value, Way(f".<default> {names[index] if index < len(names) else index}")


def keyword_defaults(thing: Any, _: tuple[str, ...]) -> Iterator[tuple[object, Way]]:
    """Yields the defaults of arguments that have to be named."""
    for name, value in items_of(thing):
        yield value, Way(f".<default> {name}")


def of_cell(thing: CellType) -> Iterator[tuple[object, Way]]:
    """Yields what a variable of a closure holds."""
    try:
        yield thing.cell_contents, Way()
    except ValueError:  # empty
        return


def of_method(thing: MethodType) -> Iterator[tuple[object, Way]]:
    """Yields what a method is bound to."""
    yield thing.__self__, Way(".__self__", ".__self__")
    yield thing.__func__, Way(".__func__", ".__func__")


def of_partial(thing: Any) -> Iterator[tuple[object, Way]]:
    """Yields what `functools.partial` keeps."""
    for name in ("func", "args", "keywords"):
        value = class_dict(partial)[name].__get__(thing)
        yield value, Way(f".{name}", f".{name}")


# Frames


def of_frame(thing: FrameType) -> Iterator[tuple[object, Way]]:
    """Yields the local variables of a frame, and the frame that called it."""
    told = function_of(thing)
    for name, value in locals_of(thing).items():
        yield value, Way(name, local_of=told)
    if not locals_of(thing):
        yield thing.f_locals, Way(role="locals", names=(told,))
    yield thing.f_back, Way()


def function_of(frame: FrameType) -> str:
    """Returns how the function of a frame is told."""
    return f"{OURS if is_ours(frame) else ''}`{frame.f_code.co_qualname}`"


def as_locals(thing: Any, names: tuple[str, ...]) -> Iterator[tuple[object, Way]]:
    """Yields the values of a dictionary that has the variables of a frame."""
    for name, value in items_of(thing) if issubclass(type(thing), dict) else ():
        yield value, Way(str(name) if type(name) is str else key_text(name)[0], local_of=names[0])


def of_generator(thing: Any) -> Iterator[tuple[object, Way]]:
    """Yields the local variables of a generator or a coroutine that waits."""
    frame = next((value for name, value in _FRAMES if issubclass(type(thing), name)), None)
    found = None if frame is None else frame.__get__(thing)
    if found is not None:
        yield found, Way()
        for name, value in locals_of(found).items():
            yield value, Way(name, local_of=function_of(found))


_FRAMES = tuple(
    (kind, class_dict(kind)[name])
    for kind, name in ((GeneratorType, "gi_frame"), (CoroutineType, "cr_frame"), (AsyncGeneratorType, "ag_frame"))
)


def of_traceback(thing: TracebackType) -> Iterator[tuple[object, Way]]:
    """Yields the frames of a traceback."""
    yield thing.tb_frame, Way()
    yield thing.tb_next, Way()


def of_error(thing: BaseException) -> Iterator[tuple[object, Way]]:
    """Yields what an error keeps, and the errors before it."""
    for name in ("__traceback__", "__cause__", "__context__"):
        yield class_dict(BaseException)[name].__get__(thing), Way()
    yield class_dict(BaseException)["args"].__get__(thing), Way(".args", ".args")
    if issubclass(kind_of(thing), BaseExceptionGroup):
        yield class_dict(BaseExceptionGroup)["exceptions"].__get__(thing), Way(".exceptions", ".exceptions")
