"""The objects that functions, their frames and errors keep alive, and the names of these objects."""

from __future__ import annotations

import types
from collections.abc import Iterator
from functools import partial
from typing import Any

from nbtf.notebook.holders.introspection import class_dict, is_ours, items_of, kind_of, locals_of
from nbtf.notebook.holders.reference import OURS, Reference, key_text


def of_function(obj: types.FunctionType) -> Iterator[tuple[object, Reference]]:
    """Yields what a function keeps alive: its closure and its defaults."""
    code = obj.__code__
    yield obj.__closure__, Reference(role="closure", names=code.co_freevars)
    defaults = obj.__defaults__ or ()
    arguments = code.co_varnames[: code.co_argcount]
    yield defaults, Reference(role="defaults", names=arguments[len(arguments) - len(defaults) :])
    yield obj.__kwdefaults__, Reference(role="keyword defaults")


def entries(noun: str, obj: Any, names: tuple[str, ...]) -> Iterator[tuple[object, Reference]]:
    """Yields the cells of a closure, or the defaults of arguments."""
    for index, entry in enumerate(obj):
        yield entry, Reference(f".<{noun}> {names[index] if index < len(names) else index}")


def keyword_defaults(obj: Any, _: tuple[str, ...]) -> Iterator[tuple[object, Reference]]:
    """Yields the defaults of keyword-only arguments."""
    for name, value in items_of(obj):
        yield value, Reference(f".<default> {name}")


def of_cell(obj: types.CellType) -> Iterator[tuple[object, Reference]]:
    """Yields the value of a closure variable."""
    try:
        yield obj.cell_contents, Reference()
    except ValueError:  # empty
        return


def of_method(obj: types.MethodType) -> Iterator[tuple[object, Reference]]:
    """Yields the object to which a method is bound."""
    yield obj.__self__, Reference(".__self__", ".__self__")
    yield obj.__func__, Reference(".__func__", ".__func__")


def of_partial(obj: Any) -> Iterator[tuple[object, Reference]]:
    """Yields what `functools.partial` keeps."""
    for name in ("func", "args", "keywords"):
        value = class_dict(partial)[name].__get__(obj)
        yield value, Reference(f".{name}", f".{name}")


# Frames


def of_frame(obj: types.FrameType) -> Iterator[tuple[object, Reference]]:
    """Yields a frame's local variables, and the frame that called it."""
    function = function_of(obj)
    for name, value in locals_of(obj).items():
        yield value, Reference(name, local_of=function)
    if not locals_of(obj):
        yield obj.f_locals, Reference(role="locals", names=(function,))
    yield obj.f_back, Reference()


def function_of(frame: types.FrameType) -> str:
    """Returns the displayed name of a frame's function."""
    return f"{OURS if is_ours(frame) else ''}`{frame.f_code.co_qualname}`"


def as_locals(obj: Any, names: tuple[str, ...]) -> Iterator[tuple[object, Reference]]:
    """Yields the values of a dictionary that holds a frame's variables."""
    for name, value in items_of(obj) if issubclass(type(obj), dict) else ():
        yield value, Reference(str(name) if type(name) is str else key_text(name)[0], local_of=names[0])


def of_generator(obj: Any) -> Iterator[tuple[object, Reference]]:
    """Yields the local variables of a suspended generator or coroutine."""
    frame = next((value for name, value in _FRAMES if issubclass(type(obj), name)), None)
    current_frame = None if frame is None else frame.__get__(obj)
    if current_frame is not None:
        yield current_frame, Reference()
        for name, value in locals_of(current_frame).items():
            yield value, Reference(name, local_of=function_of(current_frame))


_FRAMES = tuple(
    (cls, class_dict(cls)[name])
    for cls, name in (
        (types.GeneratorType, "gi_frame"),
        (types.CoroutineType, "cr_frame"),
        (types.AsyncGeneratorType, "ag_frame"),
    )
)


def of_traceback(obj: types.TracebackType) -> Iterator[tuple[object, Reference]]:
    """Yields the frames of a traceback."""
    yield obj.tb_frame, Reference()
    yield obj.tb_next, Reference()


def of_error(obj: BaseException) -> Iterator[tuple[object, Reference]]:
    """Yields what an error keeps alive, and the errors before it."""
    for name in ("__traceback__", "__cause__", "__context__"):
        yield class_dict(BaseException)[name].__get__(obj), Reference()
    yield class_dict(BaseException)["args"].__get__(obj), Reference(".args", ".args")
    if issubclass(kind_of(obj), BaseExceptionGroup):
        yield class_dict(BaseExceptionGroup)["exceptions"].__get__(obj), Reference(".exceptions", ".exceptions")
