"""How much memory a GPU device gets."""

import logging
from collections.abc import Mapping

import pytest

from nbtf._devices.limits import garbage_collection, memory_limit, reserve, resolve_growth
from nbtf.errors import InternalError

MIB = 1 << 20
GIB = 1 << 30


def _limit(
    free: int = 16 * GIB,
    capability: tuple[int, int] = (7, 0),
    fraction: float | None = None,
    logical: float | None = None,
    unified: bool = False,
    environ: Mapping[str, str] | None = None,
) -> int:
    return memory_limit(
        total=16 * GIB,
        free=free,
        compute_capability=capability,
        fraction=fraction,
        logical_limit_mib=logical,
        unified=unified,
        environ=environ or {},
    )


@pytest.mark.parametrize(
    ("free", "capability", "mib"),
    [
        (2 * GIB - 1, (9, 0), 225),
        (2 * GIB, (3, 5), 500),
        (2 * GIB, (6, 1), 500),
        (2 * GIB, (7, 5), 1050),
        (2 * GIB, (8, 9), 1536),
        (2 * GIB, (9, 0), 1800),
        (2 * GIB, (12, 0), 1800),
    ],
)
def test_reserve(free: int, capability: tuple[int, int], mib: int) -> None:
    assert mib * MIB == reserve(free, capability)


def test_by_default_all_but_the_reserve_is_taken() -> None:
    assert 15334 * MIB == _limit()


def test_a_nearly_full_card_is_taken_whole() -> None:
    assert (200 * MIB, 225 * MIB, MIB) == (_limit(200 * MIB), _limit(225 * MIB), _limit(226 * MIB))


def test_a_fraction_is_of_the_total() -> None:
    assert int(0.4 * 16 * GIB) == _limit(free=GIB, fraction=0.4)


def test_fraction_zero_is_the_default() -> None:
    assert _limit() == _limit(fraction=0.0)


def test_a_fraction_above_one_is_memory_of_the_computer_as_well() -> None:
    assert 24 * GIB == _limit(fraction=1.5, capability=(6, 0))


def test_old_cards_cannot_use_memory_of_the_computer() -> None:
    with pytest.raises(InternalError, match=r"lower than 6\.0 .* does not support oversubscription"):
        _limit(fraction=1.5, capability=(5, 2))
    with pytest.raises(InternalError, match=r"lower than 6\.0 .* does not support oversubscription"):
        _limit(unified=True, capability=(5, 2))


def test_unified_memory_does_not_change_the_limit() -> None:
    assert _limit() == _limit(unified=True)


@pytest.mark.parametrize("fraction", [-0.1, float("nan"), float("inf")])
def test_a_fraction_that_makes_no_sense_is_refused(fraction: float) -> None:
    with pytest.raises(ValueError, match="per_process_gpu_memory_fraction is"):
        _limit(fraction=fraction)


def test_a_logical_limit_loses_its_own_fraction() -> None:
    assert 1024 * MIB == _limit(logical=1024.9)


def test_a_logical_limit_may_exceed_the_card() -> None:
    assert 64 * GIB == _limit(logical=65536, environ={"TF_DEVICE_MIN_SYS_MEMORY_IN_MB": "100"})


@pytest.mark.parametrize("text", ["100", " 100 ", "0100"])
def test_the_reserve_can_be_set(text: str) -> None:
    environ = {"TF_DEVICE_MIN_SYS_MEMORY_IN_MB": text}

    assert 16 * GIB - 100 * MIB == _limit(environ=environ) == _limit(fraction=0.4, environ=environ)


def test_a_reserve_of_nothing_takes_everything() -> None:
    assert 16 * GIB == _limit(environ={"TF_DEVICE_MIN_SYS_MEMORY_IN_MB": "0"})


def test_an_empty_reserve_is_none() -> None:
    assert _limit() == _limit(environ={"TF_DEVICE_MIN_SYS_MEMORY_IN_MB": ""})


@pytest.mark.parametrize(
    ("text", "warning"),
    [
        ("-1", "The requested reserved device memory -1 is invalid. The request will be ignored."),
        ("1.5", "The requested reserved device memory 1.5 is invalid. The request will be ignored."),
        ("much", "The requested reserved device memory much is invalid. The request will be ignored."),
        (
            "16385",
            "The requested reserved device memory 16.00GiB is larger than the available memory of 16.00GiB. "
            "The request is ignored.",
        ),
    ],
)
def test_a_reserve_that_makes_no_sense_is_ignored(text: str, warning: str, caplog: pytest.LogCaptureFixture) -> None:
    assert _limit() == _limit(environ={"TF_DEVICE_MIN_SYS_MEMORY_IN_MB": text})
    assert [("tensorflow", logging.WARNING, warning)] == caplog.record_tuples


@pytest.mark.parametrize(
    ("configured", "text", "expected"),
    [
        (None, None, False),
        (True, None, True),
        (True, "true", True),
        (False, "false", False),
        (None, "false", False),
    ],
)
def test_growth_without_a_word(
    configured: bool | None, text: str | None, expected: bool, caplog: pytest.LogCaptureFixture
) -> None:
    environ = {} if text is None else {"TF_FORCE_GPU_ALLOW_GROWTH": text}

    assert expected is resolve_growth(configured, environ)
    assert [] == caplog.records


@pytest.mark.parametrize(("configured", "text", "was"), [(False, "true", 0), (None, "true", 0), (True, "false", 1)])
def test_growth_overridden_by_the_environment(
    configured: bool | None, text: str, was: int, caplog: pytest.LogCaptureFixture
) -> None:
    assert (text == "true") is resolve_growth(configured, {"TF_FORCE_GPU_ALLOW_GROWTH": text})
    warning = (
        "Overriding allow_growth setting because the TF_FORCE_GPU_ALLOW_GROWTH environment variable is set. Original "
        f"config value was {was}."
    )
    assert [("tensorflow", logging.WARNING, warning)] == caplog.record_tuples


@pytest.mark.parametrize("text", ["1", "True", ""])
def test_growth_that_cannot_be_read(text: str, caplog: pytest.LogCaptureFixture) -> None:
    assert resolve_growth(True, {"TF_FORCE_GPU_ALLOW_GROWTH": text})
    error = (
        f'The TF_FORCE_GPU_ALLOW_GROWTH environment variable is set but could not be parsed: "{text}". Valid values '
        'are "true" or "false". Using original config value of 1.'
    )
    assert [("tensorflow", logging.ERROR, error)] == caplog.record_tuples


@pytest.mark.parametrize(("text", "expected"), [(None, True), ("true", True), ("false", False)])
def test_garbage_collection(text: str | None, expected: bool) -> None:
    assert expected is garbage_collection({} if text is None else {"TF_ENABLE_GPU_GARBAGE_COLLECTION": text})


@pytest.mark.parametrize("text", ["0", "False", ""])
def test_garbage_collection_that_cannot_be_read_is_on(text: str, caplog: pytest.LogCaptureFixture) -> None:
    assert garbage_collection({"TF_ENABLE_GPU_GARBAGE_COLLECTION": text})
    error = (
        f'The TF_ENABLE_GPU_GARBAGE_COLLECTION environment variable is set but could not be parsed: "{text}". Valid '
        'values are "true" or "false". Using the default value "true".'
    )
    assert [("tensorflow", logging.ERROR, error)] == caplog.record_tuples
