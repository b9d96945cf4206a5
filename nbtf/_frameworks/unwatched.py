"""Array libraries that nbtf knows by name and cannot watch, so that no check passes over their work."""

from __future__ import annotations

import sys
from typing import Any, ClassVar, NamedTuple

from nbtf._frameworks.base import Activity, Arrays, Card, Framework, Pool, cautious


class Library(NamedTuple):
    """A library: the name of its module, its own name, and where it reports that it has started to use devices.

    `started` is `module:attribute`, the path of a function or value that is false until then; empty without one.
    """

    module: str
    name: str
    started: str = ""


LIBRARIES = (
    Library("mxnet", "MXNet"),
    Library("paddle", "PaddlePaddle"),
    Library("mindspore", "MindSpore"),
    Library("oneflow", "OneFlow"),
    Library("jittor", "Jittor"),
    Library("chainer", "Chainer"),
    Library("theano", "Theano"),
    Library("pytensor", "PyTensor"),
    Library("dynet", "DyNet"),
    Library("flashlight", "Flashlight"),
    Library("mlx.core", "MLX"),
    Library("tinygrad", "tinygrad"),
    Library("numba.cuda", "Numba CUDA", "numba.cuda.cudadrv.driver:driver.is_initialized"),
    Library("pycuda.driver", "PyCUDA"),
    Library("pyopencl", "PyOpenCL"),
    Library("arrayfire", "ArrayFire"),
    Library("dpnp", "dpnp"),
    Library("dpctl.tensor", "dpctl"),
    Library("cupynumeric", "cuPyNumeric"),
    Library("cunumeric", "cuNumeric"),
    Library("cudf", "cuDF"),
    Library("cuml", "cuML"),
    Library("rmm", "RMM"),
    Library("dask_cuda", "Dask-CUDA"),
    Library("triton", "Triton", "triton.runtime.driver:driver._active"),
    Library("tensorrt", "TensorRT"),
    Library("nvidia.dali", "NVIDIA DALI"),
    Library("onnxruntime", "ONNX Runtime"),
    Library("openvino", "OpenVINO"),
    Library("ctranslate2", "CTranslate2"),
    Library("tflite_runtime", "TensorFlow Lite"),
    Library("llama_cpp", "llama.cpp"),
)
"""The libraries. CuPy, JAX, PyTorch and TensorFlow have files of their own."""

_MISSING = object()


class Unwatched(Framework):
    """A library of which nbtf knows only whether it has been imported, and sometimes whether it has started.

    The rule for checks: an imported library may have run ops at any time. A check around it fails and names the
    library, unless the library itself reports that it has not started to use devices. A check may leave the library out
    (`--without mxnet`).
    """

    started: ClassVar[str] = ""

    def cards(self) -> list[Card]:
        """Returns no cards."""
        return []

    def pools(self) -> list[Pool]:
        """Returns no pools."""
        return []

    def arrays(self) -> Arrays | None:
        """Returns None, because its arrays are unknown."""
        return None

    def activity(self) -> Activity:
        """Returns an observer that knows only whether the library has started."""
        return _Activity(self)

    def full_card(self, error: BaseException) -> str | None:
        """Returns None, because its errors are unknown."""
        return None

    @property
    def may_have_worked(self) -> bool:
        """Whether the library may have started to use devices."""
        return self._started() is not False

    @cautious(lambda: None)
    def _started(self) -> bool | None:
        module, _, path = self.started.partition(":")
        value: Any = sys.modules.get(module, _MISSING)
        for name in path.split(".") if value is not _MISSING else ():
            value = getattr(value, name, _MISSING)
        if value is _MISSING:
            return None
        return bool(value() if callable(value) else value)


class _Activity(Activity):
    """Knows only whether the library may have worked."""

    def __init__(self, library: Unwatched) -> None:
        self._library = library

    def start(self) -> None:
        """Does nothing, because there is nothing to observe."""

    def stop(self) -> None:
        """Does nothing."""

    def work(self) -> str | None:
        """Returns a sentence if the library may have worked."""
        return (
            f"{self._library.name} may have run ops that were not recorded" if self._library.may_have_worked else None
        )

    def unmeasured(self) -> str | None:
        """Returns a sentence if the library may have worked, because its memory is unknown."""
        work = self.work()
        return None if work is None else f"{work}, in memory that it does not report to nbtf"


def _framework(library: Library) -> type[Framework]:
    """Returns the class of a library."""
    facts = {"name": library.name, "module_name": library.module, "started": library.started}
    return type(library.name, (Unwatched,), {**facts, "__doc__": f"{library.name}, which nbtf cannot watch."})


UNWATCHED: tuple[type[Framework], ...] = tuple([_framework(library) for library in LIBRARIES])
"""A class for each library."""
