"""The linker configuration of a Vitis kernel: which memory bank each port uses."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from allo.backend.devices.cards import CARDS, check_masters, check_placements
from allo.dialects.boundary.arguments import Signature
from allo.dialects.diagnostics import OptionError, PlacementError
from allo.dialects.interfaces.placements import Placement
from allo.dialects.options import read_options

from .devices import DEVICES


def bank_name(bank: int | str) -> str:
    """A bank as the linker spells it: ``HBM[3]`` for the channel 3."""
    return f"HBM[{bank}]" if isinstance(bank, int) else bank


Banks = str | tuple[str, ...]
"""The memory of an argument, or those over which its rows are spread."""


def bank_names(given: int | str | tuple[int | str, ...]) -> Banks:
    """A bank, or several, as the linker spells them."""
    return tuple(map(bank_name, given)) if isinstance(given, tuple) else bank_name(given)


SPREADING = ("vitis_hls",)
"""The targets whose kernels have a port for each channel of an array."""


def spread_over(placed: Mapping[str, Placement]) -> dict[str, Placement]:
    """The arrays that the schedule places in several channels."""
    return {name: where for name, where in placed.items() if where.count > 1}


def placed_banks(
    signature: Signature,
    placed: Mapping[str, Placement],
    mapping: Mapping[str, Banks],
    device: str,
    apart: Collection[str] = (),
) -> dict[str, Banks]:
    """``hbm_mapping`` with the channels in which the schedule places arguments; a range is one port's.

    Args:
        apart: the arrays that have a port for each channel; they are left out.

    Raises:
        PlacementError: the card lacks a channel or masters, or ``hbm_mapping`` names another bank.
    """
    arrays = [each for each in signature.arguments if each.shape is not None]
    places = {each.name: each.place for each in arrays}
    card = CARDS.get(device)
    board = DEVICES.get(device)
    without = board is not None and board.memory != "HBM"
    check_placements(card, placed, places, device if without else None)
    found = dict(mapping)
    for name, where in placed.items():
        last = f":{where.end - 1}" if where.count > 1 else ""
        bank = f"{where.kind.upper()}[{where.first}{last}]" if where.outside else None
        if mapping.get(name, bank) != bank:
            raise PlacementError(
                f"{name} lies in {where}, and hbm_mapping gives it {mapping[name]!r}.",
                places.get(name),
                help="leave it out of hbm_mapping, or leave out s.place.",
            )
        if bank is not None and name not in apart:
            found[name] = bank
        elif name in apart:
            found.pop(name, None)
    if placed:
        masters: list[str] = []
        for name in places:
            lies = placed.get(name)
            if lies is None or not lies.outside:
                masters.append(name)
            else:
                masters += lies.bundles if name in apart else (lies.bundle,)
        check_masters(card, list(dict.fromkeys(masters)), signature.top, signature.place)
    return found


def placement(top: str, port: str, bank: str) -> str:
    """The line that places a port of the first instance of ``top`` in a bank."""
    return f"sp={top}_1.{port}:{bank}"


def generate_hbm_config(
    top_func_name: str,
    hbm_mapping: Mapping[str, int | str],
    arg_name_mapping: Mapping[str, str] | None = None,
) -> str:
    """The text of ``<top>.cfg``, which places ports of a Vitis kernel in memory banks.

    Args:
        top_func_name: the kernel.
        hbm_mapping: a name to a channel of HBM (``3``) or a bank (``"HBM[3]"``, ``"DDR[0]"``).
        arg_name_mapping: the names in the C++ of those names of ``hbm_mapping`` that differ there.

    Raises:
        OptionError: ``hbm_mapping`` holds what names no bank; it is a ``ValueError``.
    """
    checked = read_options("vitis_hls", {"hbm_mapping": hbm_mapping}, {})["hbm_mapping"] or {}
    names = arg_name_mapping or {}
    lines = []
    for name, bank in checked.items():
        if isinstance(bank, tuple):
            raise OptionError(
                "Option hbm_mapping of target vitis_hls takes one memory a port in generate_hbm_config.",
                help=f"{name!r} is given {list(bank)}. Name each of its ports, such as '{name}_0'.",
            )
        lines.append(placement(top_func_name, names.get(name, name), bank_name(bank)))
    return "\n".join(["[connectivity]", *lines]) + "\n"
