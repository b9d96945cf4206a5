"""What does an error say that a layer's `call` raised? Which layer it was, and what it was called with."""

from __future__ import annotations

import inspect
from typing import Any

from nbtf import nest
from nbtf._runtime.tensor import Tensor
from nbtf.errors import OpError


def failure_of_call(error: Exception, layer: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Exception:
    """Returns the error to raise for what a layer's `call` raised: of the same class, with the call in its text.

    Where layers contain each other the innermost is named: an error that names a layer stays as it is.

    Source: Keras 3, `traceback_utils.inject_argument_info_in_traceback`.
    """
    if hasattr(error, "_keras_call_info_injected"):
        return error
    signature = inspect.signature(layer.call)
    try:
        values = signature.bind(*args, **kwargs).arguments
    except TypeError:
        return error
    caller = f"{type(layer).__name__}.call()"
    arguments = [
        f"\n  • {name}={nest.map_structure(_argument, values[name]) if name in values else parameter.default}"
        for name, parameter in signature.parameters.items()
    ]
    reason = error.message if isinstance(error, OpError) else error.args[0] if error.args else ""
    text = f"Exception encountered when calling {caller}.\n\n\x1b[1m{reason}\x1b[0m"
    if arguments:
        text += f"\n\nArguments received by {caller}:{''.join(arguments)}"
    failure: Any = _with_text(error, text)
    failure._keras_call_info_injected = True
    return failure


def _argument(value: Any) -> str:
    """An argument in a few words: of a tensor its shape and dtype alone."""
    return f"tf.Tensor(shape={value.shape}, dtype={value.dtype.name})" if isinstance(value, Tensor) else repr(value)


def _with_text(error: Exception, text: str) -> Exception:
    """An error of the same class with another text; a RuntimeError where the class does not take a text alone."""
    if isinstance(error, OpError):  # whose classes keep more than a text
        error._message = text
        return error
    try:
        failure = type(error)(text)
    except TypeError:
        failure = RuntimeError(text)
    failure.__dict__.update(error.__dict__)  # notes among them
    return failure.with_traceback(error.__traceback__)
