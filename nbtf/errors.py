"""Which kinds of errors an operation can end with.

    Exception
    ├── OpError                          has .message, .error_code, .node_def, .op
    │   ├── CancelledError            1
    │   ├── UnknownError              2
    │   ├── InvalidArgumentError      3
    │   │   └── MissingDeviceError       and a RuntimeError: the device asked for is not there
    │   ├── DeadlineExceededError     4
    │   ├── NotFoundError             5
    │   ├── AlreadyExistsError        6
    │   ├── PermissionDeniedError     7
    │   ├── ResourceExhaustedError    8  out of memory
    │   ├── FailedPreconditionError   9
    │   ├── AbortedError             10
    │   ├── OutOfRangeError          11
    │   ├── UnimplementedError       12
    │   ├── InternalError            13
    │   ├── UnavailableError         14
    │   ├── DataLossError            15
    │   └── UnauthenticatedError     16
    └── TypeError
        └── OperatorNotAllowedInGraphError

Source of the codes: `tensorflow::error::Code`, the same numbers as gRPC's status codes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

OK = 0
CANCELLED = 1
UNKNOWN = 2
INVALID_ARGUMENT = 3
DEADLINE_EXCEEDED = 4
NOT_FOUND = 5
ALREADY_EXISTS = 6
PERMISSION_DENIED = 7
RESOURCE_EXHAUSTED = 8
FAILED_PRECONDITION = 9
ABORTED = 10
OUT_OF_RANGE = 11
UNIMPLEMENTED = 12
INTERNAL = 13
UNAVAILABLE = 14
DATA_LOSS = 15
UNAUTHENTICATED = 16


class OpError(Exception):
    """An operation failed; the base of all errors with a TensorFlow error code.

    TensorFlow's form is `InvalidArgumentError(node_def, op, message)`; a message alone will do:
    `InvalidArgumentError("text")` is `InvalidArgumentError(None, None, "text")`.

    Args:
      node_def: the graph node that failed, None outside graphs.
      op: the graph operation that failed, None outside graphs. Stays behind when the error is pickled.
      message: what went wrong; `str()` of the error.
      error_code: one of the constants of this module; the class's own when left out.

    >>> tf.errors.InvalidArgumentError(None, None, "no such axis").error_code == tf.errors.INVALID_ARGUMENT
    True
    """

    _code: ClassVar[int] = UNKNOWN

    def __init__(
        self, node_def: Any = None, op: Any = None, message: str | None = None, error_code: int | None = None
    ) -> None:
        """Keeps what is known of the failure."""
        if message is None and op is None and isinstance(node_def, str):
            node_def, message = None, node_def
        super().__init__()  # `args` are empty, as in TensorFlow; the message stands alone
        self._node_def = node_def
        self._op = op
        self._message = "" if message is None else message
        self._error_code = self._code if error_code is None else error_code

    @property
    def message(self) -> str:
        """What went wrong."""
        return self._message

    @property
    def error_code(self) -> int:
        """The number of the kind of error, such as `tf.errors.INVALID_ARGUMENT`."""
        return self._error_code

    @property
    def node_def(self) -> Any:
        """The graph node that failed, or None."""
        return self._node_def

    @property
    def op(self) -> Any:
        """The graph operation that failed, or None."""
        return self._op

    def __str__(self) -> str:
        """Returns the message."""
        return self._message

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]:
        """Pickles all but `op`, which belongs to a graph of this process."""
        # Not through __init__: a subclass may ask for other arguments than we have.
        return _blank, (self.__class__, *self.args), {**self.__dict__, "_op": None}


class CancelledError(OpError):
    """An operation was stopped before it ended."""

    _code = CANCELLED


class UnknownError(OpError):
    """An operation failed in a way that has no other code."""

    _code = UNKNOWN


class InvalidArgumentError(OpError):
    """An operation was given something it cannot work with: shapes, dtypes, values, a device."""

    _code = INVALID_ARGUMENT


class MissingDeviceError(InvalidArgumentError, RuntimeError):
    """The device asked for is not there, and soft placement is off.

    TensorFlow raises a plain `InvalidArgumentError`. The `except RuntimeError` of its own guide does not catch that;
    it catches this one.
    """


class DeadlineExceededError(OpError):
    """An operation did not end in the time it was given."""

    _code = DEADLINE_EXCEEDED


class NotFoundError(OpError):
    """A file, a device or another named thing does not exist."""

    _code = NOT_FOUND


class AlreadyExistsError(OpError):
    """Something to be created exists already."""

    _code = ALREADY_EXISTS


class PermissionDeniedError(OpError):
    """The caller may not do this."""

    _code = PERMISSION_DENIED


class ResourceExhaustedError(OpError):
    """Something ran out, mostly the memory of a device."""

    _code = RESOURCE_EXHAUSTED


class FailedPreconditionError(OpError):
    """Something has to be done first, such as initialising a variable."""

    _code = FAILED_PRECONDITION


class AbortedError(OpError):
    """An operation gave up, mostly because another one was in its way."""

    _code = ABORTED


class OutOfRangeError(OpError):
    """An iteration went past the end, such as the end of a dataset."""

    _code = OUT_OF_RANGE


class UnimplementedError(OpError):
    """An operation does not exist for these inputs or this device."""

    _code = UNIMPLEMENTED


class InternalError(OpError):
    """Something that must hold inside the runtime does not."""

    _code = INTERNAL


class UnavailableError(OpError):
    """The runtime, or the machine it is on, cannot be reached at the moment."""

    _code = UNAVAILABLE


class DataLossError(OpError):
    """Data is lost or damaged beyond repair."""

    _code = DATA_LOSS


class UnauthenticatedError(OpError):
    """The caller did not say, or prove, who they are."""

    _code = UNAUTHENTICATED


class OperatorNotAllowedInGraphError(TypeError):
    """A graph tensor was used where Python needs its value, such as `if tensor:`."""


def _blank(error_class: type[OpError], *args: Any) -> OpError:
    return error_class.__new__(error_class, *args)


def __dir__() -> list[str]:
    names = globals().items()
    return [name for name, value in names if name[0] != "_" and getattr(value, "__module__", __name__) == __name__]
