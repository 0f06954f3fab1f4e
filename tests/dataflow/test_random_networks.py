"""Random networks: hardware ends, or deadlocks, where the simulator does, and says so in its words.

60 networks of fixed seeds; ``ALLO_NETWORKS=2000`` runs as many, from seed 1000 on.
"""

from __future__ import annotations

import os

import pytest

from .networks import Network, outcome, random_network, schedule_of

MORE = int(os.environ.get("ALLO_NETWORKS", "0"))
SEEDS = range(1000, 1000 + MORE) if MORE else range(60)


def simulated(network: Network) -> list[int] | str:
    return outcome(schedule_of(network).build(target="simulator"), network)


def in_hardware(network: Network, engine: str) -> list[int] | str:
    options = {"target": "verilog", "simulator": engine, "max_cycles": 200_000}
    return outcome(schedule_of(network).build(**options), network)


def check(network: Network, got: list[int] | str) -> None:
    """A pipelined network has more room than its program, and may end where that deadlocks."""
    want = simulated(network)
    if isinstance(want, list) or not network.pipelined:
        assert got == want
    else:
        assert "calls differ" not in got
        assert isinstance(got, list) or " deadlocks: " in got


@pytest.mark.parametrize("seed", SEEDS)
def test_hardware_agrees_with_the_simulator(seed: int):
    network = random_network(seed)
    check(network, in_hardware(network, "jit"))


@pytest.mark.parametrize("seed", [3, 10, 17, 3007])
def test_verilator_agrees(seed: int):
    """Of seed 3007 a FIFO of two words is full, whose count is two registers."""
    network = random_network(seed)
    assert in_hardware(network, "verilator") == in_hardware(network, "jit")


@pytest.mark.parametrize("seed", range(20, 24))
def test_csim_agrees(seed: int):
    network = random_network(seed)
    assert outcome(schedule_of(network).build(target="vhls"), network) == simulated(network)


def test_the_networks_are_of_every_kind():
    networks = [random_network(seed) for seed in range(60)]
    assert 20 <= sum(network.pipelined for network in networks) <= 40
    assert 10 <= sum(network.shared for network in networks) <= 30
    ended = [isinstance(simulated(network), list) for network in networks[:20]]
    assert 5 <= sum(ended) <= 15
