"""How do other libraries use the cell's device as well? With `%%device GPU:1 --also cupy,torch`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from importlib.util import find_spec
from typing import Any

from nbtf import runtime
from nbtf._counts import counted
from nbtf._install import pip_install
from nbtf.notebook.device_names import label, short
from nbtf.notebook.session import Undo

_INSTALLS: Mapping[str, str] = {
    "cupy": pip_install("cuda12"),
    "torch": "pip install torch",
    "jax": "pip install jax",
    "tensorflow": 'pip install "tensorflow[and-cuda]"',
}

Enter = Callable[[Any, int], AbstractContextManager[Any]]


def _cupy_device(cupy: Any, ordinal: int) -> AbstractContextManager[Any]:
    return cupy.cuda.Device(ordinal)


def _torch_device(torch: Any, ordinal: int) -> AbstractContextManager[Any]:
    if not torch.cuda.is_available():
        raise ValueError("this PyTorch has no GPU: it was built without CUDA, or finds no driver")
    return torch.cuda.device(ordinal)


def _jax_device(jax: Any, ordinal: int) -> AbstractContextManager[Any]:
    cards = [device for device in jax.local_devices() if device.platform != "cpu"]
    if ordinal >= len(cards):
        raise ValueError(f"this JAX has {counted(len(cards), 'GPU')}, but not cuda:{ordinal}")
    return jax.default_device(cards[ordinal])


def _tensorflow_device(tensorflow: Any, ordinal: int) -> AbstractContextManager[Any]:
    cards = tensorflow.config.list_logical_devices("GPU")
    if ordinal >= len(cards):
        raise ValueError(f"this TensorFlow has {counted(len(cards), 'GPU')}, but not GPU:{ordinal}")
    return tensorflow.device(cards[ordinal].name)


_LIBRARIES: Mapping[str, Enter] = {
    "cupy": _cupy_device,
    "torch": _torch_device,
    "jax": _jax_device,
    "tensorflow": _tensorflow_device,
}


def library_names(text: str) -> tuple[str, ...]:
    """Returns the names of libraries in a list such as `cupy,torch`.

    Raises:
      ValueError: if one of them is not supported.

    >>> library_names("cupy, torch")
    ('cupy', 'torch')
    """
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",")))
    unknown = [name for name in names if name not in _LIBRARIES]
    if unknown:
        supported = ", ".join(_LIBRARIES)
        raise ValueError(f"cannot set the device of {unknown[0]!r}. Try --also {supported}, or several: cupy,torch.")
    return names


def also_on(device: str | None, libraries: Sequence[str]) -> Undo:
    """Sets the current device of libraries; returns the function that restores it.

    Args:
      device: the full name of nbtf's device; None for the automatic placement.
      libraries: their names.

    Raises:
      ValueError: if they have no such device, or one of them is not imported. Nothing has changed then.
    """
    ordinal = _ordinal(device)
    modules = [(name, _module(name)) for name in libraries]
    entered = ExitStack()
    for name, module in modules:
        try:
            entered.enter_context(_LIBRARIES[name](module, ordinal))
        except Exception as error:  # a library may raise any error about a card
            entered.close()
            raise ValueError(f"--also {name}: {error}") from error
    return entered.close


def _ordinal(device: str | None) -> int:
    if device is None:
        raise ValueError("--also needs a GPU, for example %%device GPU:1 --also cupy,torch; auto is not a GPU.")
    device_info = next((info for info in runtime.devices() if info.name == short(device)), None)
    if device_info is None or device_info.cuda is None:
        raise ValueError(f"--also needs a real GPU; other libraries cannot use {label(device)}.")
    return device_info.cuda


def _module(name: str) -> Any:
    module = sys.modules.get(name)
    if module is not None:
        return module
    if name not in sys.modules and find_spec(name) is not None:
        raise ValueError(f"--also {name}: not imported. Run `import {name}` in a cell above.")
    raise ValueError(f"--also {name}: not installed. Install with: {_INSTALLS[name]}")
