"""Which GPUs this machine has."""

import pytest

from nbtf._devices.catalog import find_card
from nbtf._devices.discovery import SimulatedMachine, gpus, machine_from_environment, simulated_machine

MIB = 1 << 20


def test_without_a_simulated_machine_there_is_no_simulated_gpu() -> None:
    assert () == tuple(gpu for gpu in gpus(None, {}) if gpu.simulated)


def test_default_card_is_a_v100() -> None:
    machine = simulated_machine(4)

    assert (4, "Tesla V100-SXM2-16GB", 16384 * MIB) == (machine.count, machine.card.name, machine.memory_bytes)


@pytest.mark.parametrize(
    ("memory", "mib"),
    [("5GiB", 5120), ("16 GiB", 16384), ("512MiB", 512), ("1.5 gib", 1536), ("700", 700), (2048, 2048), (0.5e3, 500)],
)
def test_memory_can_be_chosen(memory: float | str, mib: int) -> None:
    assert mib * MIB == simulated_machine(1, memory=memory).memory_bytes


@pytest.mark.parametrize("memory", ["5GB", "much", "", "-1", 0, -5, True, float("nan"), "1 2 MiB", "0.5MiB", "1e3"])
def test_memory_that_makes_no_sense_is_refused(memory: float | str) -> None:
    with pytest.raises(ValueError, match=r'The memory of a simulated GPU is .*; expected a number of MiB .* "5GiB"'):
        simulated_machine(1, memory=memory)


@pytest.mark.parametrize("count", [-1, 1.5, "2", True, None])
def test_a_count_that_makes_no_sense_is_refused(count: object) -> None:
    with pytest.raises(ValueError, match=r"The number of simulated GPUs is .*; expected 0, 1, 2 or more"):
        simulated_machine(count)  # pyright: ignore[reportArgumentType]


def test_a_count_that_would_fill_this_computer_is_refused() -> None:
    with pytest.raises(ValueError, match="The number of simulated GPUs is 1000000000000; expected at most 1024"):
        simulated_machine(10**12)


@pytest.mark.parametrize(
    ("machine", "sentence"),
    [
        (
            simulated_machine(4, "K20m"),
            "4 simulated GPUs (Tesla K20m, 5 GiB each): NumPy on this computer's CPU. No GPU is used.",
        ),
        (
            simulated_machine(1, "K40c"),
            "1 simulated GPU (Tesla K40c, 12 GiB): NumPy on this computer's CPU. No GPU is used.",
        ),
        (
            simulated_machine(2, memory=512),
            "2 simulated GPUs (Tesla V100-SXM2-16GB, 512 MiB each): NumPy on this computer's CPU. No GPU is used.",
        ),
        (simulated_machine(0), "No simulated GPUs."),
    ],
)
def test_sentence_says_what_is_simulated(machine: SimulatedMachine, sentence: str) -> None:
    assert sentence == machine.sentence()


@pytest.mark.parametrize("text", [None, "", " ", "0", "0xTesla K20m", "00"])
def test_environment_asks_for_none(text: str | None) -> None:
    assert machine_from_environment({} if text is None else {"NBTF_SIMULATED_GPUS": text}) is None


@pytest.mark.parametrize(
    ("text", "count", "name"),
    [
        ("4", 4, "Tesla V100-SXM2-16GB"),
        (" 2 ", 2, "Tesla V100-SXM2-16GB"),
        ("4xTesla K20m", 4, "Tesla K20m"),
        ("1 X k40c", 1, "Tesla K40c"),
    ],
)
def test_environment_asks_for_some(text: str, count: int, name: str) -> None:
    assert simulated_machine(count, name) == machine_from_environment({"NBTF_SIMULATED_GPUS": text})


@pytest.mark.parametrize("text", ["four", "-1", "4.0", "Tesla K20m", "4x", "4 Tesla K20m", "true"])
def test_environment_that_makes_no_sense_says_what_may_stand_there(text: str) -> None:
    with pytest.raises(ValueError, match=f"NBTF_SIMULATED_GPUS is '{text}'; expected a number of GPUs such as 4"):
        machine_from_environment({"NBTF_SIMULATED_GPUS": text})


def test_environment_with_an_unknown_card_lists_the_known() -> None:
    with pytest.raises(ValueError, match=r"NBTF_SIMULATED_GPUS is '2xVoodoo'.*Known cards: .*Tesla K20m"):
        machine_from_environment({"NBTF_SIMULATED_GPUS": "2xVoodoo"})


def test_cards_are_as_in_the_old_guides() -> None:
    found = gpus(simulated_machine(4, "K20m"), {})

    assert ["0000:02:00.0", "0000:03:00.0", "0000:83:00.0", "0000:84:00.0"] == [gpu.bus_id for gpu in found]
    assert {(find_card("K20m"), True, 5120 * MIB)} == {(gpu.card, gpu.simulated, gpu.memory_bytes) for gpu in found}
    assert [0, 1, 2, 3] == [gpu.machine_index for gpu in found]
    assert 4 == len({gpu.uuid for gpu in found})


@pytest.mark.parametrize(("value", "seen"), [("", []), ("-1", []), ("2,0", [2, 0]), ("1,1", []), ("1,9,0", [1])])
def test_visible_devices_are_obeyed(value: str, seen: list[int]) -> None:
    found = gpus(simulated_machine(4), {"CUDA_VISIBLE_DEVICES": value})

    assert seen == [gpu.machine_index for gpu in found]


def test_a_card_can_be_asked_for_by_its_identifier() -> None:
    third = gpus(simulated_machine(4), {})[2]

    assert (third,) == gpus(simulated_machine(4), {"CUDA_VISIBLE_DEVICES": third.uuid[:12]})


@pytest.mark.parametrize("order", ["PCI_BUS_ID", "FASTEST_FIRST"])
def test_equal_cards_stand_in_the_same_order_either_way(order: str) -> None:
    found = gpus(simulated_machine(4, "K20m"), {"CUDA_DEVICE_ORDER": order})

    assert [0, 1, 2, 3] == [gpu.machine_index for gpu in found]
