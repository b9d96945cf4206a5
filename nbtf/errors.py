"""Which kinds of errors can an operation raise?

    Exception
    ├── OpError                          has .message, .error_code, .node_def, .op
    │   ├── CancelledError            1
    │   ├── UnknownError              2
    │   ├── InvalidArgumentError      3
    │   │   └── MissingDeviceError       and a RuntimeError: the requested device does not exist
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
    """The base class of all errors with a TensorFlow error code: an operation failed.

    TensorFlow's form is `InvalidArgumentError(node_def, op, message)`. A message alone is enough:
    `InvalidArgumentError("text")` is `InvalidArgumentError(None, None, "text")`.

    Args:
      node_def: the graph node that failed; None outside graphs.
      op: the graph operation that failed; None outside graphs. It is not pickled.
      message: what went wrong, also the `str()` of the error.
      error_code: one of the constants of this module; the class's own by default.

    >>> tf.errors.InvalidArgumentError(None, None, "no such axis").error_code == tf.errors.INVALID_ARGUMENT
    True
    """

    _code: ClassVar[int] = UNKNOWN

    def __init__(
        self, node_def: Any = None, op: Any = None, message: str | None = None, error_code: int | None = None
    ) -> None:
        """Stores the details of the failure."""
        if message is None and op is None and isinstance(node_def, str):
            node_def, message = None, node_def
        super().__init__()  # `args` is empty, as in TensorFlow; the message is stored separately
        self._node_def = node_def
        self._op = op
        self._message = "" if message is None else message
        self._error_code = self._code if error_code is None else error_code

    @property
    def message(self) -> str:
        """The description of the failure."""
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
        """Returns the state for pickling: everything except `op`, which belongs to a graph of this process."""
        # Bypasses __init__, because a subclass may require other arguments.
        return _blank, (self.__class__, *self.args), {**self.__dict__, "_op": None}


class CancelledError(OpError):
    """An operation was cancelled before it ended."""

    _code = CANCELLED


class UnknownError(OpError):
    """An operation failed for a reason that has no other code."""

    _code = UNKNOWN


class InvalidArgumentError(OpError):
    """An operation received invalid input: shapes, dtypes, values, a device."""

    _code = INVALID_ARGUMENT


class MissingDeviceError(InvalidArgumentError, RuntimeError):
    """The requested device does not exist, and soft placement is off.

    TensorFlow raises a plain `InvalidArgumentError`, which the `except RuntimeError` in its own guide does not catch.
    It does catch this error.
    """


class DeadlineExceededError(OpError):
    """An operation did not finish in the given time."""

    _code = DEADLINE_EXCEEDED


class NotFoundError(OpError):
    """A file, a device or another named thing does not exist."""

    _code = NOT_FOUND


class AlreadyExistsError(OpError):
    """The object to be created already exists."""

    _code = ALREADY_EXISTS


class PermissionDeniedError(OpError):
    """The caller lacks permission for this operation."""

    _code = PERMISSION_DENIED


class ResourceExhaustedError(OpError):
    """A resource is exhausted, usually the memory of a device."""

    _code = RESOURCE_EXHAUSTED


class FailedPreconditionError(OpError):
    """The system is not in the required state: for example, a variable must be initialised first."""

    _code = FAILED_PRECONDITION


class AbortedError(OpError):
    """An operation was aborted, usually because of a conflict with another one."""

    _code = ABORTED


class OutOfRangeError(OpError):
    """An iteration went past its end, such as the end of a dataset."""

    _code = OUT_OF_RANGE


class UnimplementedError(OpError):
    """An operation is not implemented for these inputs or this device."""

    _code = UNIMPLEMENTED


class InternalError(OpError):
    """An internal invariant of the runtime is broken."""

    _code = INTERNAL


class UnavailableError(OpError):
    """The runtime, or the machine it runs on, is currently unreachable."""

    _code = UNAVAILABLE


class DataLossError(OpError):
    """Data is lost or corrupted beyond repair."""

    _code = DATA_LOSS


class UnauthenticatedError(OpError):
    """The caller did not provide valid credentials."""

    _code = UNAUTHENTICATED


class OperatorNotAllowedInGraphError(TypeError):
    """A graph tensor was used where Python needs its value, such as in `if tensor:`."""


def _blank(error_class: type[OpError], *args: Any) -> OpError:
    return error_class.__new__(error_class, *args)


def __dir__() -> list[str]:
    names = globals().items()
    return [name for name, value in names if name[0] != "_" and getattr(value, "__module__", __name__) == __name__]
