"""Which machine is simulated: texts and sentences of clusters."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtf._devices.catalog import CARDS
from nbtf._devices.links import NETWORKS
from nbtf._devices.machines import SimulatedCluster, machine_from_environment, simulated_cluster

names = st.sampled_from([card.name for card in CARDS])
links = st.sampled_from([network.name for network in NETWORKS] + ["100Gb/s", "12.5GB/s", "25Gb/s 50us"])
memories = st.none() | st.integers(1, 10**6)


def test_a_cluster_says_in_one_sentence_what_it_is() -> None:
    assert (
        "128 simulated hosts, 1,024 simulated GPUs (NVIDIA H100 80GB HBM3, 79.6 GiB each), 100Gb/s between hosts: "
        "/job:worker/task:0 to /job:worker/task:127. NumPy on this computer's CPU. No GPU is used."
    ) == simulated_cluster(128, 8, "H100").sentence()


def test_a_single_host_with_a_single_card_is_told_as_one() -> None:
    assert (
        "1 simulated host, 1 simulated GPU (Tesla K20m, 5 GiB), 10GbE between hosts: "
        "/job:worker/task:0. NumPy on this computer's CPU. No GPU is used."
    ) == simulated_cluster(1, 1, "K20m", "10GbE").sentence()


@given(st.integers(1, 32), st.integers(1, 32), names, links, memories)
def test_a_cluster_is_what_its_text_asks_for(hosts: int, gpus: int, model: str, link: str, memory: int | None) -> None:
    asked = simulated_cluster(hosts, gpus, model, link, memory)

    assert asked == machine_from_environment({"NBTF_SIMULATED_GPUS": asked.text()})


@pytest.mark.parametrize(
    ("text", "shape"),
    [("16x8xH100", (16, 8)), ("2 x 4 x Tesla K20m", (2, 4)), ("1x1xT4,10GbE", (1, 1)), ("3X2xT4@1GiB, 10Gb/s", (3, 2))],
)
def test_hosts_stand_before_cards(text: str, shape: tuple[int, int]) -> None:
    machine = machine_from_environment({"NBTF_SIMULATED_GPUS": text})

    assert isinstance(machine, SimulatedCluster)
    assert shape == (machine.hosts, machine.host.count)


def test_of_two_numbers_the_second_is_a_card() -> None:
    machine = machine_from_environment({"NBTF_SIMULATED_GPUS": "4x4090"})

    assert "4 simulated GPUs (NVIDIA GeForce RTX 4090, 24 GiB each)" in str(machine and machine.sentence())


@pytest.mark.parametrize(
    "text", ["16x8xH100,", "0x8xH100", "16x0xH100", "1000x8xH100", "2x2xNone", "4xT4,10GbE", "2x2xT4,slow", "axbxT4"]
)
def test_what_is_no_machine_is_refused_by_the_name_of_the_variable(text: str) -> None:
    with pytest.raises(ValueError, match=f"NBTF_SIMULATED_GPUS is '{text}'"):
        machine_from_environment({"NBTF_SIMULATED_GPUS": text})


@pytest.mark.parametrize(("hosts", "gpus"), [(0, 8), (-1, 8), (True, 8), (1.5, 8), ("2", 8), (8, 0), (8, None)])
def test_a_cluster_without_hosts_or_cards_is_refused(hosts: object, gpus: object) -> None:
    with pytest.raises(
        ValueError, match=r"The number of simulated (hosts|GPUs of a host) is .*; expected 1, 2 or more"
    ):
        simulated_cluster(hosts, gpus)  # pyright: ignore[reportArgumentType]


def test_more_cards_than_there_may_be_are_refused() -> None:
    with pytest.raises(ValueError, match="129 hosts with 8 simulated GPUs are 1032; expected at most 1024"):
        simulated_cluster(129, 8)


def test_no_two_cards_of_a_cluster_have_one_identifier() -> None:
    cards = simulated_cluster(128, 8).all_cards()

    assert 1024 == len({card.uuid[:12] for card in cards}) == len({(card.task, card.bus_id) for card in cards})
