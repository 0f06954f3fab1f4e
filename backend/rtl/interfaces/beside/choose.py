"""Which arrays pass while the core runs, and which are copied whole, before it and after it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from math import prod
from typing import Any

from allo.backend.devices.copies import refuse_copies
from allo.dialects._mlir import ir
from allo.dialects.core.partition import unpartitioned
from allo.dialects.diagnostics import InterfaceError
from allo.dialects.interfaces.forked import find_transfers
from allo.dialects.interfaces.gathers import find_gathers, make_gather
from allo.dialects.interfaces.runs import DATA_DECIDE, Runs
from allo.dialects.interfaces.scatters import find_scatters, make_scatter
from allo.dialects.interfaces.transfers import Refusal, Transfer
from allo.dialects.types import Stream, parse_type

from ...design import ArrayInterface, HardwareDesign
from ..arguments import Known
from ..buses.bundles import bundles_of
from .packed import packed_transfer, refused_packed

LINE = 512
"""Bits of a line of memory, by which the cost of a walk is compared with that of a copy."""
SHARE = 8
"""What is kept of an array for processes behind others takes one part in so many of the device's RAM."""
MOST_MORE = 2
"""How many times the lines of a copy a walk may touch."""
FEWER = 4
"""An array is used by requests where it has so many times the elements that are loaded and stored."""
REQUESTS = 64
"""Requests that may be under way where nothing is asked."""


class TransferChooser:
    """Chooses the arrays of a module; called with it, and with the notes of the report.

    Args:
        ram: bytes of RAM of the device; larger arrays are not copied if they can pass. None for any.
        requests: whether the memories on the outside answer several requests at once.
    """

    def __init__(
        self,
        known: Known,
        interface: str | Mapping[str, Any],
        ram: int | None = None,
        *,
        requests: bool = True,
        title: str = "device",
    ) -> None:
        self._known = known
        self._ram = ram
        self._title = title
        self._requests = requests
        self._asked: dict[int, Mapping[str, Any]] = {}
        for position, parameter in enumerate(known.signature.arguments):
            if parameter.shape is None or isinstance(parameter.dtype, Stream):
                continue
            asked = interface if isinstance(interface, str) else interface.get(parameter.name)
            fields = asked if isinstance(asked, Mapping) else {"kind": asked}
            if fields.get("kind") == "m_axi":
                if parameter.packed and fields.get("copy") is True:
                    why = "its interface asks for a copy of it"
                    raise refused_packed(parameter, known.signature.top, why)
                self._asked[position] = {**fields, "copy": False} if parameter.packed else fields
        masters = (bundles_of(fields.get("bundle")) for fields in self._asked.values())
        self._users = Counter(bundle for some in masters for bundle in some)

    def __call__(self, module: ir.Module, notes: list[str]) -> dict[int, Transfer]:
        """The arrays that pass while the core runs, by position; those that it asks for are streams then.

        Raises:
            InterfaceError: one that must do so cannot.
            CapacityError: one that is copied whole is larger than the device's RAM.
        """
        wanted = [n for n, fields in self._asked.items() if fields.get("copy") is not True]
        top = self._known.signature.top
        asked = "its interface asks for it"
        parameters = self._known.signature.arguments
        whole = {n: (parameters[n], asked) for n in self._asked if n not in wanted}
        found = find_transfers(module, top, wanted)
        chosen, refused = self._gathers(module, found, notes) if self._requests else ({}, {})
        if chosen:  # which changes the module
            found = find_transfers(module, top, [n for n in wanted if n not in chosen])
        for position, transfer in found.items():
            fields = self._asked[position]
            why = self._against(fields, transfer)
            parameter = self._known.signature.arguments[position]
            if not why and isinstance(transfer, Transfer):
                if parameter.packed:
                    transfer = packed_transfer(transfer, parameter, top, notes)
                chosen[position] = transfer
                continue
            if parameter.packed:
                raise refused_packed(parameter, top, why)
            why = refused.get(position, why) if isinstance(transfer, Refusal) else why
            if fields.get("copy") is False:
                raise InterfaceError(
                    f"{parameter.name} cannot pass while {self._known.signature.top} runs: {why}.",
                    parameter.place,
                    help="leave copy out, and it is copied whole; or s.cache it at a loop.",
                )
            notes.append(f"{parameter.name} is copied whole, before or behind the run: {why}.")
            whole[position] = parameter, why
        if self._ram is not None:
            refuse_copies(module, top, whole, self._ram, self._title)
        return chosen

    def _gathers(
        self, module: ir.Module, walks: Mapping[int, Transfer | Refusal], notes: list[str]
    ) -> tuple[dict[int, Transfer], dict[int, str]]:
        """Let the core ask for elements that data decide; by position, and why others do not."""
        top = self._known.signature.top
        chosen: dict[int, Transfer] = {}
        refused: dict[int, str] = {}
        for position, walk in walks.items():
            fields = self._asked[position]
            bundles = bundles_of(fields.get("bundle"))
            alone = len(bundles) < 2 and all(self._users[each] == 1 for each in bundles)
            parameter = self._known.signature.arguments[position]
            stored = parameter.written
            if parameter.packed:
                continue
            if not isinstance(walk, Refusal) or not alone or (stored and walk.why != DATA_DECIDE):
                continue
            kind = self._known.signature.arguments[position].dtype
            if int(fields.get("width") or LINE) < kind.bits:
                refused[position] = (
                    "an element is wider than its bus, and data decide which one is used"
                )
                continue
            find, make = (find_scatters, make_scatter) if stored else (find_gathers, make_gather)
            uses = find(module, top, [position])[position]
            if isinstance(uses, Refusal):
                refused[position] = uses.why
                continue
            if fields.get("copy") is not False and not self._is_cheaper(position, uses):
                continue
            most = int(fields.get("outstanding") or REQUESTS)
            made = chosen[position] = make(module, top, position, most)
            ways = (
                "read and written" if made.is_loaded and stored else "written" if stored else "read"
            )
            notes.append(f"{made.name} is {ways} by requests, up to {most} under way: {walk.why}.")
        return chosen, refused

    def _is_cheaper(self, position: int, uses: int | None) -> bool:
        """Whether so many requests are cheaper than a copy of an array."""
        parameter = self._known.signature.arguments[position]
        count = prod(extent or 0 for extent in parameter.shape or ())
        if uses is not None and uses * FEWER <= count:
            return True
        return self._ram is not None and count * parameter.dtype.bits > 8 * self._ram

    def _against(self, fields: Mapping[str, Any], transfer: Transfer | Refusal) -> str:
        """Why an array is copied whole, "" for nothing."""
        if isinstance(transfer, Refusal):
            return transfer.why
        if fields.get("copy") is False:
            return ""
        cell = max(8, 1 << (parse_type(transfer.dtype).bits - 1).bit_length())
        count, line = prod(transfer.shape), max(1, LINE // cell)
        kept = (len(transfer.forks) + 1) * count * cell if transfer.forks else 0
        if self._ram is not None and SHARE * kept > 8 * self._ram:
            return "the processes that load it could be far apart"
        if self._ram is not None and count * parse_type(transfer.dtype).bits > 8 * self._ram:
            return ""
        for runs in (transfer.loads, transfer.stores):
            if runs is not None and (why := _dear(runs, count, line)):
                return why
        return ""


def _dear(runs: Runs, count: int, line: int) -> str:
    """Why a walk is dearer than a copy."""
    if runs.elements > count:
        return f"{runs.elements} elements would pass, and it has {count}"
    lines, whole = runs.words_of(line), -(-count // line)
    if lines > MOST_MORE * whole:
        return f"{lines} lines of {LINE} bits would pass, and it has {whole}"
    return ""


def join_transfers(
    design: HardwareDesign, transfers: Mapping[int, Transfer], arguments: int
) -> None:
    """Let a design have arrays where its core has streams; it has so many arguments."""
    streams = {s for t in transfers.values() for s in t.streams}
    design.arguments = design.arguments[:arguments]
    design.streams = tuple(s for s in design.streams if s.name not in streams)
    arrays = {array.name: array for array in design.arrays}
    for position, transfer in transfers.items():
        direction = (
            "both"
            if transfer.is_loaded and transfer.is_stored
            else "out"
            if transfer.is_stored
            else "in"
        )
        name = design.arguments[position]
        arrays[name] = ArrayInterface(
            name,
            transfer.dtype,
            parse_type(transfer.dtype).bits,
            transfer.shape,
            unpartitioned(transfer.shape),
            direction,
            (),
        )
    order = [*design.arguments, *design.results]
    design.arrays = tuple(arrays[n] for n in dict.fromkeys(order) if n in arrays)


__all__ = ["TransferChooser", "join_transfers"]
