"""Which interface each argument gets: the option ``interface`` held against the compiled design."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

from allo.dialects.boundary.layouts import packed_cell
from allo.dialects.boundary.storage import is_signed
from allo.dialects.diagnostics import DTypeError, InterfaceError, SourcePlace
from allo.dialects.text.near import did_you_mean
from allo.dialects.types import parse_type

from ..design import ArrayInterface, StreamInterface
from ..graph.linear import bits_unsigned
from .arguments import Arguments
from .board import BUS_ERROR, PAGE, Board, Buffered, Master, Part, StreamEnd
from .buses.bundles import bundles_of, check_bundles, name_registers, side_by_side
from .control import lay_out
from .early.leaving import with_leaving
from .masters import ADDRESS
from .shell import Core
from .walk import copy_lanes, folded, most_fold, most_lanes
from .wires import wires_of

CONTROL = "return"
"""The key that says how the design is started, as HLS tools call that port."""
KINDS = {
    "array": ("memory", "m_axi", "axis"),
    "scalar": ("s_axilite", "port"),
    "stream": ("axis",),
    "control": ("s_axilite", "port"),
}
_A = {"array": "an array", "scalar": "a scalar", "stream": "a stream"}
_FIELDS = {"kind", "bundle", "width", "burst", "outstanding", "copy", "early"}
_WIDTHS = (32, 64, 128, 256, 512)
_BURSTS = (1, 2, 4, 8, 16, 32, 64, 128, 256)
SHORT = 128
"""A copy takes at most one part in so many of the core's cycles, where that can be had."""
DEFAULT_BURST, DEFAULT_OUTSTANDING, MOST_OUTSTANDING = 64, 16, 64


@dataclass(frozen=True, slots=True)
class Asked:
    """What a user asks for one argument."""

    kind: str
    bundle: str | Sequence[str] | None = None
    width: int | None = None
    burst: int | None = None
    outstanding: int | None = None
    copy: bool | None = None
    early: bool | None = None


def read_interface(option: str | Mapping[str, Any], arguments: Arguments) -> dict[str, Asked]:
    """What is asked for each argument, with defaults, and under ``"return"`` how a run is started.

    Raises:
        InterfaceError: a name that is no argument, or an interface that the argument cannot have.
    """
    if isinstance(option, str):
        arrays = {n for n, sort in arguments.sorts.items() if sort == "array"}
        option = {user: option for user, name in arguments.spelled.items() if name in arrays}
    found: dict[str, Asked] = {}
    for user, given in option.items():
        name = arguments.spelled.get(user, user)
        sort = "control" if user == CONTROL else arguments.sorts.get(name)
        if sort is None:
            known = [*arguments.spelled, CONTROL]
            raise InterfaceError(
                f"The option interface names {user!r}, which is no argument of {arguments.top}.",
                arguments.place,
                help=f"{did_you_mean(user, known)}its arguments: {', '.join(arguments.spelled)}.",
            )
        found[name] = _read(name, sort, given, arguments)
    returned = next((n for n in arguments.results if found.get(n, Asked("")).kind == "axis"), None)
    if returned is not None:
        raise InterfaceError(
            f"{returned} is returned and cannot have the interface 'axis'.",
            arguments.place,
            help="make it an argument that the function writes, or give it 'm_axi'.",
        )
    needed = any(a.kind in ("m_axi", "s_axilite") for a in found.values())
    started = found.setdefault(CONTROL, Asked("s_axilite" if needed else "port")).kind
    if started == "port" and needed:
        other = next(n for n, a in found.items() if a.kind in ("m_axi", "s_axilite"))
        raise InterfaceError(
            f"{other} has registers in the AXI4-Lite interface, and the option interface starts "
            f"{arguments.top} by ports.",
            arguments.places.get(other),
            help=f"leave {CONTROL!r} out of interface, or give it 's_axilite'.",
        )
    defaults = {"array": "memory", "scalar": started, "stream": "axis"}
    for name, sort in arguments.sorts.items():
        found.setdefault(name, Asked(defaults[sort]))
    return found


def _read(name: str, sort: str, given: Any, arguments: Arguments) -> Asked:
    place = arguments.places.get(name, arguments.place)
    fields = {"kind": given} if isinstance(given, str) else dict(given)
    unknown = next((f for f in fields if f not in _FIELDS), None)
    if unknown is not None:
        raise InterfaceError(
            f"The interface of {name} has no field {unknown!r}.",
            place,
            help=f"{did_you_mean(unknown, _FIELDS)}its fields: {', '.join(sorted(_FIELDS))}.",
        )
    asked = Asked(**{"kind": "", **fields})
    kinds = KINDS[sort]
    if asked.kind not in kinds:
        listed = " or ".join(repr(kind) for kind in kinds)
        near = did_you_mean(str(asked.kind), kinds) if asked.kind else ""
        what = f"A design cannot be started by {asked.kind!r}."
        if sort in _A:
            what = f"{name} is {_A[sort]} and cannot have the interface {asked.kind!r}."
        raise InterfaceError(what, place, help=f"{near}it takes {listed}.")
    if asked.kind != "m_axi" and len(fields) > 1:
        extra = next(f for f in fields if f != "kind")
        raise InterfaceError(
            f"The interface {asked.kind!r} of {name} has no {extra}.",
            place,
            help=f"{extra} belongs to 'm_axi'; leave it out.",
        )
    _check_numbers(name, asked, place)
    return asked


def _check_numbers(name: str, asked: Asked, place: SourcePlace | None) -> None:
    allowed: dict[str, tuple[Any, tuple[int, ...]]] = {
        "width": (asked.width, _WIDTHS),
        "burst": (asked.burst, _BURSTS),
        "outstanding": (asked.outstanding, tuple(range(1, MOST_OUTSTANDING + 1))),
    }
    for field, (value, known) in allowed.items():
        if value is None or (type(value) is int and value in known):
            continue
        range_text = f"from 1 to {MOST_OUTSTANDING}" if field == "outstanding" else ""
        raise InterfaceError(
            f"The interface of {name} has {field} {value!r}.",
            place,
            help=f"it takes an integer {range_text or 'of ' + ', '.join(map(str, known))}.",
        )
    if asked.copy not in (None, True, False):
        raise InterfaceError(
            f"The interface of {name} has copy {asked.copy!r}.",
            place,
            help="it takes True for a copy of the whole array, or False for none.",
        )
    if asked.early not in (None, True, False):
        raise InterfaceError(
            f"The interface of {name} has early {asked.early!r}.",
            place,
            help="it takes True for a run that begins while the array is copied in, or False.",
        )
    check_bundles(name, asked.bundle, place)


def plan_board(core: Core, asked: Mapping[str, Asked], arguments: Arguments) -> Board:
    """The outside of the wrapper.

    Raises:
        InterfaceError: interfaces that do not go together.
    """
    arrays = {a.name: a for a in core.arrays}
    order = list(arguments.sorts)
    chosen = [n for n in order if asked[n].kind == "m_axi" and n in arrays]
    bundles = {n: bundles_of(asked[n].bundle) or (f"gmem{chosen.index(n)}",) for n in chosen}
    registers_of = name_registers(bundles, order)
    buffered = tuple(
        _buffered(
            arrays[n],
            tuple(map(Part, bundles[n], registers_of[n])),
            arguments,
            (asked[n].width or arguments.widest, core.cycles),
        )
        for n in chosen
    )
    if not core.waits:
        buffered = with_leaving(buffered, arrays, arguments.early)
    masters = tuple(
        _master(bundle, [b for b in buffered if bundle in b.bundles], asked, arrays, arguments)
        for bundle in dict.fromkeys(bundle for some in bundles.values() for bundle in some)
    )
    widths_asked = {n: asked[n].width for n in chosen}
    masters = side_by_side(masters, buffered, widths_asked, arguments.places)
    inputs = [s for s in core.scalars_in if asked.get(s.name, Asked("s_axilite")).kind != "port"]
    lite = asked[CONTROL].kind == "s_axilite"
    registers = None
    if lite:
        widths = {s.name: s.width for s in inputs}
        results = [(s.name, s.width) for s in core.scalars_out]
        inside: list[tuple[str, int]] = []
        for n in order:
            inside += [(each, ADDRESS) for each in registers_of.get(n, ())]
            inside += [(n, widths[n])] if n in widths else []
        registers = lay_out(results, inside, [(BUS_ERROR, 1)] if masters else [])
    held = {r.name for r in registers or ()}
    board = Board(
        top=f"{core.module}_axi",
        core=core.module,
        registers=registers,
        masters=masters,
        arrays=buffered,
        streams=tuple(_stream(s, arguments.counts.get(s.name)) for s in core.streams),
        memories=tuple(n for n in arrays if n not in bundles),
        pins=tuple(s.name for s in core.scalars_in if s.name not in held),
        results=tuple(s.name for s in core.scalars_out if not lite),
    )
    board = replace(board, wires=wires_of(board, core))
    _check_names(board, arguments)
    return board


def _check_names(board: Board, arguments: Arguments) -> None:
    seen: set[str] = set()
    for wire in board.wires:
        if wire.name in seen:
            raise InterfaceError(
                f"Two ports of the wrapper of {arguments.top} would be called {wire.name}.",
                arguments.place,
                help="rename the argument, or the bundle, that it comes from.",
            )
        seen.add(wire.name)


def _buffered(
    array: ArrayInterface,
    parts: tuple[Part, ...],
    arguments: Arguments,
    pace: tuple[int, int | None],
) -> Buffered:
    """An array on the outside; ``pace``: bits of a bus, and cycles of the core."""
    transfer = arguments.transfers.get(array.name)
    if not array.ports and transfer is None:
        raise InterfaceError(
            f"{array.name} cannot have the interface 'm_axi': nothing reads or writes it.",
            arguments.places.get(array.name),
            help="leave it out of the option interface.",
        )
    dtype = parse_type(array.dtype)
    cell = array.width if transfer and transfer.packed else packed_cell(array.width)
    stored = array.direction != "in"
    whole = array.name in arguments.results or array.name in arguments.written_whole
    fold, uneven = 1, False
    loaded = transfer.is_loaded if transfer else not (array.direction == "out" and whole)
    if not transfer:
        fold, uneven = _steps(array, cell, pace[0] * len(parts), pace[1])
    return Buffered(
        name=array.name,
        parts=parts,
        width=array.width,
        cell=cell,
        signed=is_signed(dtype),
        count=prod(array.shape),
        loaded=loaded,
        stored=stored,
        beside=transfer,
        fold=fold,
        uneven=uneven,
        early=loaded and not transfer and array.name in arguments.early.needs,
    )


def _master(
    bundle: str,
    mine: list[Buffered],
    asked: Mapping[str, Asked],
    arrays: Mapping[str, ArrayInterface],
    arguments: Arguments,
) -> Master:
    """The port of a bundle: what is asked for it, or as wide as its arrays can take."""
    found: dict[str, tuple[int, str]] = {}
    for each in mine:
        for field in ("width", "burst", "outstanding"):
            value = getattr(asked[each.name], field)
            if value is None:
                continue
            before, other = found.setdefault(field, (value, each.name))
            if before != value:
                raise InterfaceError(
                    f"{other} and {each.name} are in bundle {bundle}, with {field} {before} and {value}.",
                    arguments.places.get(each.name),
                    help=f"give them one {field}, or a bundle each.",
                )
    natural = max(_natural_width(b, arrays[b.name]) for b in mine)
    width = found.get("width", (min(arguments.widest, max(32, natural)), ""))[0]
    longest = PAGE // (width // 8)
    burst = min(found.get("burst", (DEFAULT_BURST, ""))[0], longest)
    asks = any(b.is_asked for b in mine)
    many = MOST_OUTSTANDING if asks else DEFAULT_OUTSTANDING
    many = found.get("outstanding", (many, ""))[0]
    return Master(
        bundle,
        width,
        1 if asks else burst,
        many,
        reads=any(b.loaded for b in mine),
        writes=any(b.stored for b in mine),
        ids=bits_unsigned(many - 1) if asks and any(b.loaded for b in mine) else 0,
    )


def _natural_width(buffered: Buffered, array: ArrayInterface) -> int:
    """The bits of one of its buses that an array can use in a cycle; all, if it passes beside the core.

    What a core asks for is one element.
    """
    if buffered.is_asked:
        return buffered.cell
    ways = len(buffered.parts)
    if buffered.beside is not None:
        return (1 << (buffered.bytes * 8 - 1).bit_length()) // ways
    layout = folded(array.layout, buffered.fold)
    lanes = copy_lanes(layout, 512 * ways // min(buffered.cell, 512), uneven=buffered.uneven)
    return (1 << (lanes * buffered.cell - 1).bit_length()) // ways


def _steps(array: ArrayInterface, cell: int, width: int, cycles: int | None) -> tuple[int, bool]:
    """How the RAM of an array is filled: as simply as makes a copy short beside the core's run.

    That is into how many each bank of it is cut, and whether steps may be no power of two of elements.

    Args:
        width: bits of all buses of the array.
        cycles: of the core, where they are known.
    """
    most, count = max(1, width // cell), prod(array.shape)
    fold, lanes = most_fold(array.layout, most), most_lanes(array.layout, most)

    def is_short(lanes: int) -> bool:
        return cycles is not None and count // lanes * SHORT <= cycles

    while fold > 1 and is_short(lanes * fold // 2):
        fold //= 2
    return fold, not is_short(most_lanes(folded(array.layout, fold), most))


def _stream(stream: StreamInterface, count: int | None) -> StreamEnd:
    width = stream.width
    try:
        declared = parse_type(stream.dtype)
        signed = is_signed(declared) and declared.bits == width
    except DTypeError:  # a block of elements
        signed = False
    cell = -(-width // 8) * 8
    return StreamEnd(stream.name, width, cell, signed, stream.direction == "out", count)
