"""Through which ports of its RAM an array is filled."""

from __future__ import annotations

from collections.abc import Sequence

from ...design import ArrayInterface, BankPort


def filled_by(ports: Sequence[BankPort], *, early: bool) -> int | None:
    """Through which of its ports a bank is filled; None where that is one more."""
    if early and len(ports) == 1 and not ports[0].writes:
        return None
    # Elements come in through a port that writes anyway: a bank that two ports write is no block RAM of
    # families but Xilinx's.
    return next((n for n, port in enumerate(ports) if port.writes), 0)


def shared_ports(array: ArrayInterface, depth: int, *, early: bool) -> list[BankPort]:
    """The ports of the core through which elements come in; a bank of one word needs none.

    Args:
        depth: words of a bank of the RAM.
    """
    found = []
    for bank in range(array.layout.bank_count if depth > 1 else 0):
        ports = [port for port in array.ports if port.bank == bank]
        place = filled_by(ports, early=early)
        found += [ports[place]] if ports and place is not None else []
    return found


__all__ = ["filled_by", "shared_ports"]
