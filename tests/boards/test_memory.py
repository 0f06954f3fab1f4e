"""Arrays of ``m_axi`` in the SDRAM of a simulated board, whose model names every rule that is broken."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import allo
from allo.boards import connect, simulate
from allo.boards.known.ulx3s import SDRAM
from allo.boards.model.sdram import RULES
from allo.errors import BuildError, LineError, SimulationError
from allo.ir.types import int8, int32

from .soaked import Calls, memory

# Parts that are slower than the one that the controller is made for: what the model says of each.
SLOWER = {
    "power_up": (400_000, 2),
    "rfc": (120, 3),
    "clock": (21, 5),
    "rp": (41, 8),
    "rc": (300, 9),
    "rrd": (5000, 10),
    "rcd": (41, 12),
    "ras": (300, 15),
    "wr": (100, 16),
    "cas": (3, 18),
    "refresh": (3000, 20),
}


def counted(ask, asked):
    """A link's ``ask`` that notes the data it is given."""

    def noting(session, command, place, data=b""):
        asked.append(data)
        return ask(session, command, place, data)

    return noting


@pytest.fixture(scope="module")
def calls() -> Calls:
    return memory()


def test_arrays_lie_in_the_memory_and_unchanged_parts_are_not_sent_again(
    calls: Calls, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(1)
    with simulate(calls.module) as port, connect(port, calls.module) as device:
        for _ in range(6):
            given, expected, result = calls.draw(rng)
            assert device(*given) == result
            for found, wanted in zip(given, expected, strict=True):
                np.testing.assert_array_equal(found, wanted)
        calls.module(*given, simulator="jit")
        assert calls.module.cycles < device.cycles < 3 * calls.module.cycles
        monkeypatch.setattr(device._link, "ask", counted(device._link.ask, asked := []))
        device(*given)
        whole, given[0] = len(asked), 0
        device(*given)  # what the memory holds since the last call, but for Z
        assert sum(len(data) for data in asked[whole:]) < 100 < 1200 < sum(map(len, asked[:whole]))


@pytest.mark.parametrize("field", SLOWER)
def test_a_slower_memory_is_seen(calls: Calls, field: str) -> None:
    value, rule = SLOWER[field]
    given, _, _ = calls.draw(np.random.default_rng(2))
    with (
        pytest.raises(SimulationError) as failure,
        simulate(calls.module, sdram=replace(SDRAM, **{field: value})) as port,
        pytest.raises(LineError),
        connect(port, calls.module) as device,
    ):
        device(*given)
    assert failure.value.message == f"axpy broke a rule of the board's memory: {RULES[rule]}."


def scaled(A: int8[64], B: int32[64]):
    for i in range(64):
        B[i] = 3 * A[i]


@pytest.mark.parametrize(
    ("board", "buses", "message"),
    [
        (
            "icebreaker",
            {"A": "m_axi"},
            "needs a memory beside the device, and 1BitSquared iCEBreaker has none",
        ),
        (
            "ulx3s-85f",
            {"A": {"kind": "m_axi", "bundle": ["a", "b"]}},
            "A lies on 2 masters, and .* has one memory.",
        ),
        ("ulx3s-85f", {"A": "axis"}, "does not serve the interfaces 'axis'"),
    ],
)
def test_what_a_board_does_not_serve(board: str, buses, message: str, tmp_path) -> None:
    module = allo.customize(scaled).build(
        target="verilog", board=board, configs={"interface": buses}
    )
    with pytest.raises(BuildError, match=message):
        module.bitstream(tmp_path / "x.bit")
