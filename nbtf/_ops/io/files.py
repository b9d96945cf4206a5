"""Ops that read and write files. Everything runs on the CPU."""

from __future__ import annotations

from typing import Any

from nbtf._devices.base import Spec
from nbtf._ops.op import no_gradient, op
from nbtf._ops.specs import bracketed
from nbtf._ops.strings import kernels
from nbtf._runtime.tensor import Tensor
from nbtf._storage import gfile, system_errors
from nbtf._types import TensorLike, string
from nbtf.errors import InvalidArgumentError


@op("string -> string", cpu_only=True)
def ReadFile(xp: Any, filename: Any) -> Any:
    return kernels.filled(xp, [system_errors.read(filename[()])], (), object)


@ReadFile.infer
def _(filename: Spec) -> Spec:
    if filename.shape:
        raise InvalidArgumentError(f"Input filename tensor must be scalar, but had shape: {bracketed(filename.shape)}")
    return Spec((), string)


def read_file(filename: TensorLike, name: str | None = None) -> Tensor:
    """Returns the content of a file.

    Args:
      filename: path of a regular file, a scalar.
      name: accepted and ignored.

    Raises:
      NotFoundError: if the file does not exist.
      FailedPreconditionError: if `filename` is a folder, a device or a pipe.

    >>> path = str(getfixture("tmp_path") / "a.txt")
    >>> tf.io.write_file(path, "text")
    >>> tf.io.read_file(path).numpy()
    b'text'
    """
    return ReadFile(filename, name=name)


@op("string string ->", cpu_only=True)
def WriteFile(xp: Any, filename: Any, contents: Any) -> Any:
    for noun, value in (("filename", filename), ("Contents", contents)):
        if value.ndim:
            noun = "Input filename" if noun == "filename" else noun
            raise InvalidArgumentError(f"{noun} tensor must be scalar, but had shape: {bracketed(value.shape)}")
    system_errors.write(filename[()], contents[()])
    return []


@WriteFile.infer
def _(filename: Spec, contents: Spec) -> list[Spec]:
    return []


def write_file(filename: TensorLike, contents: TensorLike, name: str | None = None) -> Any:
    """Writes a file atomically and creates missing parent folders.

    Args:
      filename: path of the file, a scalar.
      contents: its content, a scalar.
      name: accepted and ignored.

    Raises:
      FailedPreconditionError: if `filename` is a folder.

    >>> tf.io.write_file(str(getfixture("tmp_path") / "a.txt"), "text")
    """
    result = WriteFile(filename, contents, name=name)
    return None if result.__class__ is list else result


@op("string -> string", data_dependent=True, cpu_only=True)
def MatchingFiles(xp: Any, pattern: Any) -> Any:
    if pattern.ndim > 1:
        raise InvalidArgumentError(
            f"Input pattern tensor must be scalar or vector, but had shape: {bracketed(pattern.shape)}"
        )
    paths = {path for text in pattern.ravel().tolist() for path in gfile.matching(text.decode())}
    return kernels.filled(xp, [path.encode() for path in sorted(paths)], (len(paths),), object)


@MatchingFiles.infer
def _(pattern: Spec) -> Spec:
    return Spec((None,), string)


def matching_files(pattern: TensorLike, name: str | None = None) -> Tensor:
    """Returns the paths that match one or more patterns, sorted.

    Args:
      pattern: a pattern such as `*.txt`, or a vector of patterns.
      name: accepted and ignored.

    Returns:
      A vector of strings.

    >>> path = str(getfixture("tmp_path") / "a.txt")
    >>> tf.io.write_file(path, "text")
    >>> tf.io.matching_files(path.replace("a.txt", "*.txt")).shape
    TensorShape([1])
    """
    return MatchingFiles(pattern, name=name)


no_gradient(ReadFile, WriteFile, MatchingFiles)
