"""Networks of several functions: which calls share a function, what is found, and that it is right."""

from __future__ import annotations

import time

import numpy as np
import pytest

import allo
from allo.designs.networks.chains import SEVEN_UNBALANCED, THREE_PRODUCTS
from allo.designs.networks.convolutions import SEPARABLE_BLOCK
from allo.designs.networks.network import Network
from allo.designs.networks.perceptrons import AUTOENCODER, RESIDUAL_MLP
from allo.designs.networks.transformer import ATTENTION
from allo.dialects.core.signature import functions_of
from allo.errors import AutoscheduleError
from allo.explore import search
from allo.explore.deadline import Clock
from allo.explore.greedy import least_of_pipelines
from allo.explore.networks import arranged, choose
from allo.explore.networks.part import functions_in
from allo.ir.types import int32
from allo.schedule import Schedule
from benchmarks.autoschedule_models import MODELS


def product(X: int32[8, 8], W: int32[8, 8]) -> int32[8, 8]:
    Y: int32[8, 8] = 0
    for i, j, k in allo.grid(8, 8, 8):
        Y[i, j] += X[i, k] * W[k, j]
    return Y


def relu(X: int32[8, 8]) -> int32[8, 8]:
    Y: int32[8, 8]
    for i, j in allo.grid(8, 8):
        Y[i, j] = max(X[i, j], 0)
    return Y


def chain(
    A: int32[8, 8], B: int32[8, 8], C: int32[8, 8], D: int32[8, 8], E: int32[8, 8], F: int32[8, 8]
) -> int32[8, 8]:
    AB = product(A, B)
    ABC = product(AB, C)
    ABCD = product(ABC, D)
    AE = product(ABCD, E)
    return product(AE, F)


def pair(A: int32[8, 8], B: int32[8, 8]) -> int32[8, 8]:
    return relu(product(A, B))


def apart(A: int32[8, 8], B: int32[8, 8]) -> int32[8, 8]:
    R = relu(A)
    S = relu(B)
    return product(R, S)


def test_a_chain_of_layers_gets_a_function_for_each_call() -> None:
    found = arranged(allo.customize(chain))
    assert found.notes == ["product: a function for each of 5 calls"]
    assert not any(nest.serial for nest in found.kernel.nests)
    assert found.schedule.primitive_sequences[0][0] == "specialize"


def test_calls_that_keep_nothing_from_a_schedule_share_their_function() -> None:
    given = allo.customize(apart)
    found = arranged(given)
    assert found.notes == ["relu: rolled, 2 calls"]
    assert not given.primitive_sequences and not found.schedule.primitive_sequences


def test_what_the_user_has_scheduled_stays_one_function() -> None:
    given = allo.customize(chain)
    given.pipeline("product:j")
    found = arranged(given)
    assert found.notes == ["product: rolled, 5 calls, as the user has scheduled it"]


def test_a_found_chain_has_the_bits_of_the_cpu_in_hardware() -> None:
    found = allo.autoschedule(chain, max_dsp=128, clock_mhz=300.0, seconds=3.0, cache=False)
    rng = np.random.default_rng(3)
    arrays = [rng.integers(-9, 9, (8, 8)).astype(np.int32) for _ in range(6)]
    hardware = found.build(target="verilog", simulator="jit", clock_mhz=300.0)
    got = hardware(*arrays)
    assert got.tobytes() == found.build()(*arrays).tobytes()
    assert hardware.cycles == found.trace.cycles
    assert found.trace.bound <= found.trace.cycles < 1.5 * found.trace.bound
    assert "a function for each of 5 calls" in str(found.trace)


@pytest.mark.parametrize(
    "network", [AUTOENCODER, RESIDUAL_MLP, ATTENTION, SEPARABLE_BLOCK, THREE_PRODUCTS, SEVEN_UNBALANCED]
)  # fmt: skip
def test_the_networks_are_what_numpy_says(network: Network) -> None:
    arrays = network.inputs(np.random.default_rng(1))
    got = allo.customize(network.kernel).build()(*arrays)
    wanted = network.reference(*arrays)
    assert np.abs(got - wanted).max() < 1e-5 * np.abs(wanted).max()


def marks(s: Schedule, function: str) -> int:
    """The pipelines in a function."""
    with s.context:
        return str(functions_of(s.module)[function]).count("pipeline_ii")


def test_pipelines_are_left_out_where_time_is_up_and_their_iterations_are_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(choose, "FEW", 1)
    monkeypatch.setattr(Clock, "rest", property(lambda _: 0.0))
    monkeypatch.setattr(search, "FAR", 1e9)
    found = allo.autoschedule(pair, max_dsp=64, seconds=60.0, cache=False)
    assert found.trace.plain is None
    assert least_of_pipelines(arranged(allo.customize(pair), None).kernel) == 512
    assert found.trace.cycles is not None and found.trace.cycles < 512


def test_a_part_is_scheduled_and_the_rest_stays() -> None:
    given = allo.customize(apart)
    found = given.autoschedule(
        "relu*", max_dsp=64, seconds=3.0, cache=False, timer=time.process_time
    )
    assert marks(found, "relu") == 1
    assert marks(found, "product") == 0
    assert not given.primitive_sequences
    assert found.trace.cycles < allo.customize(apart).estimate().cycles
    assert any("outside of the part" in reason for reason in found.trace.unexplored)


def test_a_part_has_what_its_functions_call_and_is_a_path_of_a_model() -> None:
    given = allo.customize(apart)
    assert functions_in(given, "apart") == {"apart", "relu", "product"}
    given.module_paths = {"relu": "blocks.0.act", "product": "head"}  # type: ignore[attr-defined]
    assert functions_in(given, "blocks.*") == {"relu"}


def test_a_part_that_names_nothing_is_refused() -> None:
    with pytest.raises(AutoscheduleError, match="No function of apart is called 'relo'") as caught:
        allo.customize(apart).autoschedule("relo", seconds=1.0)
    assert "there are apart, product, relu" in (caught.value.help or "")


def test_the_bounds_are_those_of_512_multiplications_a_cycle() -> None:
    assert {name: model.least for name, model in MODELS.items()} == {
        "autoencoder": 30_208,
        "residual_mlp": 14_376,
        "feed_forward": 65_536,
        "attention": 10_240,
        "residual_block": 28_224,
        "separable_block": 100_352,
        "seven_balanced": 3_584,
        "seven_unbalanced": 5_184,
        "three_products": 44_532,
    }
