"""What a failed operation tells its caller."""

import copy
import pickle
import re
from typing import Any

import pytest

from nbtf import errors

CODED = {
    name: kind
    for name, kind in vars(errors).items()
    if isinstance(kind, type) and issubclass(kind, errors.OpError) and kind is not errors.OpError
}
NAMES = sorted(CODED)


def constant_of(name: str) -> str:
    return re.sub(r"(?<!^)([A-Z])", r"_\1", name.removesuffix("Error")).upper()


@pytest.mark.parametrize("name", [name for name in NAMES if name != "MissingDeviceError"])
def test_each_class_has_the_code_of_its_name(name: str) -> None:
    error = CODED[name](None, None, "text")

    assert error.error_code == getattr(errors, constant_of(name))


def test_every_code_but_ok_has_one_class() -> None:
    codes = sorted(value for name, value in vars(errors).items() if name.isupper())
    classes = sorted(CODED[name]("").error_code for name in NAMES if name != "MissingDeviceError")

    assert codes == [errors.OK, *classes]
    assert codes == list(range(17))


def test_the_drawing_shows_every_class() -> None:
    assert errors.__doc__ is not None
    drawn = set(re.findall(r"\w+Error\b", errors.__doc__.split("Source")[0])) - {"RuntimeError", "TypeError"}

    assert {*NAMES, "OpError", "OperatorNotAllowedInGraphError"} == drawn


def test_the_text_of_an_error_is_its_message() -> None:
    error = errors.InvalidArgumentError(None, None, "no such axis")

    assert str(error) == error.message == "no such axis"


def test_node_and_operation_are_kept() -> None:
    error = errors.NotFoundError("node", "op", "gone")

    assert ("node", "op", "gone") == (error.node_def, error.op, error.message)


def test_keywords_are_named_as_in_tensorflow() -> None:
    error = errors.AbortedError(node_def=None, op=None, message="stopped")

    assert "stopped" == str(error)


@pytest.mark.parametrize("name", NAMES)
def test_a_message_alone_will_do(name: str) -> None:
    error = CODED[name]("text")

    assert (None, None, "text") == (error.node_def, error.op, error.message)


def test_an_error_without_message_is_empty() -> None:
    error = errors.InternalError(None, None, None)

    assert "" == str(error) == error.message


def test_the_base_takes_any_code() -> None:
    assert errors.DATA_LOSS == errors.OpError(None, None, "text", errors.DATA_LOSS).error_code


def test_fields_cannot_be_set() -> None:
    error: Any = errors.InternalError("text")

    with pytest.raises(AttributeError):
        error.message = "other"


def test_a_missing_device_is_caught_as_a_runtime_error() -> None:
    with pytest.raises(RuntimeError, match="no GPU"):
        raise errors.MissingDeviceError(None, None, "no GPU")


def test_a_missing_device_is_an_invalid_argument() -> None:
    error = errors.MissingDeviceError("no GPU")

    assert isinstance(error, errors.InvalidArgumentError)
    assert errors.INVALID_ARGUMENT == error.error_code


def test_only_the_missing_device_is_a_runtime_error() -> None:
    assert ["MissingDeviceError"] == [name for name in NAMES if issubclass(CODED[name], RuntimeError)]


def test_a_graph_tensor_used_as_a_value_is_a_type_error() -> None:
    assert issubclass(errors.OperatorNotAllowedInGraphError, TypeError)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("name", NAMES)
def test_errors_pickle(name: str, protocol: int) -> None:
    error = CODED[name]("node", None, "text")

    again = pickle.loads(pickle.dumps(error, protocol))

    assert (type(error), "node", "text", "text", error.error_code) == (
        type(again),
        again.node_def,
        again.message,
        str(again),
        again.error_code,
    )


def test_the_code_of_the_base_survives_pickling() -> None:
    again = pickle.loads(pickle.dumps(errors.OpError(None, None, "text", errors.ABORTED)))

    assert (errors.ABORTED, "text") == (again.error_code, str(again))


def test_an_operation_that_does_not_pickle_stays_behind() -> None:
    error = errors.InternalError(None, lambda: None, "text")

    again = pickle.loads(pickle.dumps(error))

    assert again.op is None
    assert error.op is not None


def test_notes_survive_pickling() -> None:
    error = errors.InternalError("text")
    error.add_note("in cell 3")

    assert ["in cell 3"] == pickle.loads(pickle.dumps(error)).__notes__


class ErrorWithItsOwnArguments(errors.InvalidArgumentError):
    def __init__(self, expected: int, came: int) -> None:
        super().__init__(None, None, f"expected {expected}, got {came}")


def test_a_subclass_with_other_arguments_copies() -> None:
    again = copy.copy(ErrorWithItsOwnArguments(1, 2))

    assert "expected 1, got 2" == str(again) == again.message


def test_an_error_has_its_message_and_no_arguments() -> None:
    error = errors.NotFoundError(None, None, "gone")

    assert ("NotFoundError()", "gone", (), "gone") == (repr(error), str(error), error.args, error.message)
