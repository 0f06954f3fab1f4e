"""What serves an array while the core runs: a walk, an engine of its master, and a gearbox each way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from allo.dialects.interfaces.runs import Runs

from ...emit.builder import ModuleBuilder, identifier
from ...graph.linear import bits_unsigned
from ..board import Buffered
from ..buses.clients import WRITE
from ..buses.gang import Gang, Orders
from ..masters import ADDRESS
from ..parts import concat, flag, put_instance, up_down
from .gather import Wanted, gather_module
from .gearbox import packer_module, unpacker_module
from .scatter import Stored, scatter_module
from .units import Units
from .walker import walker_module

LINES = 128
"""Lines that are read before the core asks for them."""
QUEUE = 2


def fork_lines(runs: Runs, width: int, cell: int) -> int:
    """Words of a bus that a process is behind another one at most: all that pass."""
    return max(2, runs.words_of(max(1, width // cell)))


@dataclass(slots=True)
class Served:
    """What the shell joins: values by name.

    Attributes:
        core: inputs of the core.
        stored: whether every word has been written, "" where none is.
        bad: bits that say that a memory has answered with an error.
    """

    core: dict[str, str] = field(default_factory=dict)
    stored: str = ""
    bad: list[str] = field(default_factory=list)


class Server:
    """Serves one array in the text of a shell.

    Args:
        gang: the masters on which the array lies, at ``addresses``.
        pulses: the pulse that starts a run, and whether the core runs.
        core: outputs of the core by name.
    """

    def __init__(
        self,
        gang: Gang,
        array: Buffered,
        top: str,
        pulses: tuple[str, str],
        addresses: Sequence[str],
        core: Mapping[str, str],
    ) -> None:
        self._text, self._made, self._gang = gang.text, gang.made, gang
        self._array, self._master = array, gang.master
        self._name = f"{top}_{identifier(array.name)}"
        self._label = identifier(array.name)
        self._go, self._runs = pulses
        self._addresses, self._core = addresses, core
        self._lead = ""
        self._served = Served()

    def serve(self) -> Served:
        """Put everything into the shell."""
        transfer = self._array.beside
        if transfer is None:
            return self._served
        if transfer.request_stream:
            streams = transfer.request_stream, transfer.load_stream, transfer.store_stream
            self._answer(*(identifier(stream) if stream else "" for stream in streams))
            return self._served
        if transfer.loads is not None and transfer.stores is not None:
            self._lead = self._text.named(f"{self._label}_lead")
        taken = given = ""
        if transfer.loads is not None and transfer.forks:
            self._fork(((transfer.load_stream, transfer.loads), *transfer.forks))
        elif transfer.loads is not None:
            taken = self._load(transfer.loads, identifier(transfer.load_stream))
        if transfer.stores is not None:
            given = self._store(transfer.stores, identifier(transfer.store_stream))
        if self._lead:
            most = transfer.loads.elements // transfer.loads.word if transfer.loads else 1
            up_down(self._text, self._lead, bits_unsigned(most), taken, given)
        return self._served

    def _load(self, runs: Runs, stream: str) -> str:
        """Memory to core; whether a word is taken."""
        text, units = self._text, self._units(runs)
        free, take = text.named(f"{self._label}_read_free"), text.named(f"{self._label}_take")
        ready = text.named(f"{self._label}_line_ready")
        orders = self._requests("read", units, free)
        found = self._gang.read(f"{self._label}_reader", orders, ready, LINES)
        text.alias(free, found["free"], 1)
        self._served.bad.append(found["bad"])
        lines = {"in_data": found["data"], "in_valid": found["valid"]}
        wanted, valid = self._unpack("unpack", runs, stream, take, lines)
        text.alias(ready, wanted, 1)
        return text.all_of(valid, take)

    def _unpack(
        self, way: str, runs: Runs, stream: str, take: str, lines: Mapping[str, str]
    ) -> tuple[str, str]:
        """Lines to a stream of the core: whether a line is taken, and whether there is a word to ``take``."""
        text, units = self._text, self._units(runs)
        module = self._made.take(unpacker_module(f"{self._name}_{way}", units, self._made))
        words = self._run_of(way, module, units, {**lines, "out_ready": take})
        # A core that has not started yet may drop words.
        text.alias(take, text.all_of(self._core[f"{stream}_ready"], self._runs), 1)
        data, valid = words["out_data"], text.all_of(words["out_valid"], self._runs)
        data = self._elements(data, runs.word)
        self._served.core |= {f"{stream}_data": data, f"{stream}_valid": valid}
        return words["in_ready"], valid

    def _fork(self, ways: Sequence[tuple[str, Runs]]) -> None:
        """Memory to several streams of the core: a FIFO for each keeps what the others have taken already."""
        text, label, runs = self._text, self._label, ways[0][1]
        units = self._units(runs)
        free, ready = text.named(f"{label}_read_free"), text.named(f"{label}_line_ready")
        orders = self._requests("read", units, free)
        found = self._gang.read(f"{label}_reader", orders, ready)
        text.alias(free, found["free"], 1)
        self._served.bad.append(found["bad"])
        passes = text.all_of(found["valid"], ready)
        rooms = []
        for n, (stream, own) in enumerate(ways):
            take, wanted = (text.named(f"{label}_fork{n}_{s}") for s in ("take", "wanted"))
            inputs = {"in_data": found["data"], "in_valid": passes, "out_ready": wanted}
            width, depth = self._master.width, fork_lines(own, self._master.width, self._array.cell)
            kept = self._made.fifo(text, f"{label}_fork{n}", width, depth, inputs)
            rooms.append(kept["in_ready"])
            lines = {"in_data": kept["out_data"], "in_valid": kept["out_valid"]}
            asked, _ = self._unpack(f"unpack{n}", own, identifier(stream), take, lines)
            text.alias(wanted, asked, 1)
        text.alias(ready, text.all_of(*rooms), 1)

    def _answer(self, asks: str, loaded: str, stored: str) -> None:
        """Elements that the core asks for and gives, one by one, by the names of its streams."""
        text, array = self._text, self._array
        wanted = Wanted(bits_unsigned(array.count - 1), array.cell, array.width)
        # A core that does not run asks for nothing.
        asked = text.all_of(self._core[f"{asks}_valid"], self._runs)
        number, room = self._core[f"{asks}_data"], ""
        if loaded and stored:
            room = self._update(wanted, number, asked, (loaded, stored))
        elif stored:
            room = self._scatter(wanted, number, asked, stored)["room"]
        else:
            room = self._gather(wanted, number, asked, loaded)
        self._served.core[f"{asks}_ready"] = room

    def _update(self, wanted: Wanted, word: str, asked: str, streams: tuple[str, str]) -> str:
        """Both engines, which take a request of both kinds together; whether a request is taken.

        A request is kept for a cycle, in which its number is compared with those of writes.
        """
        text, label, bits = self._text, self._label, wanted.bits + 2
        names = "held", "moves", "taken", "write_room", "read_room", "waits"
        held, moves, taken, kept, free, waits = (text.named(f"{label}_{n}") for n in names)
        last = text.register(text.named(f"{label}_request"), word, bits, enable=moves)
        flag(text, held, moves, taken)
        room = text.any_of(text.invert(held), taken)
        text.alias(moves, text.all_of(asked, room), 1)
        writes, reads = (text.slice(last, n, 1, bits) for n in range(2))
        number, following = (text.slice(w, 2, wanted.bits, bits) for w in (last, word))
        passes = text.all_of(
            held,
            text.any_of(text.invert(writes), kept),
            text.any_of(text.invert(reads), text.all_of(free, text.invert(waits))),
        )
        text.alias(taken, passes, 1)
        ahead = {"following": following, "moves": moves}
        found = self._scatter(wanted, number, text.all_of(taken, writes), streams[1], ahead)
        text.alias(kept, found["room"], 1)
        text.alias(waits, found["waits"], 1)
        reading = self._gather(wanted, number, text.all_of(taken, reads), streams[0])
        text.alias(free, reading, 1)
        self._served.stored = text.all_of(found["idle"], text.invert(held))
        return room

    def _gather(self, wanted: Wanted, number: str, asked: str, stream: str) -> str:
        """The engine that reads single elements; whether it takes a request."""
        text = self._text
        inputs = {
            "base": self._addresses[0],
            "number": number,
            "asked": asked,
            "ready": text.all_of(self._core[f"{stream}_ready"], self._runs),
            **self._gang.alone(),
        }
        module = self._made.take(gather_module(self._master, wanted, self._made))
        found = put_instance(text, f"{self._label}_gather", module, inputs)
        self._served.core |= {
            f"{stream}_data": found["data"],
            f"{stream}_valid": found["valid"],
        }
        self._gang.keep_alone(found)
        self._served.bad.append(found["bad"])
        return found["room"]

    def _scatter(
        self,
        wanted: Wanted,
        number: str,
        asked: str,
        stream: str,
        ahead: Mapping[str, str] | None = None,
    ) -> dict[str, str]:
        """The engine that writes single elements: its outputs; ``ahead`` is of the request that comes."""
        inputs = {
            "base": self._addresses[0],
            "number": number,
            "asked": asked,
            "data": self._core[f"{stream}_data"],
            "valid": self._core[f"{stream}_valid"],
            **self._gang.alone(WRITE),
            **(ahead or {}),
        }
        kind = Stored(wanted, signed=self._array.signed, compared=ahead is not None)
        module = self._made.take(scatter_module(self._master, kind, self._made))
        found = put_instance(self._text, f"{self._label}_scatter", module, inputs)
        self._served.core[f"{stream}_ready"] = found["ready"]
        self._gang.keep_alone(found, WRITE)
        self._served.bad.append(found["bad"])
        self._served.stored = found["idle"]
        return found

    def _store(self, runs: Runs, stream: str) -> str:
        """Core to memory; whether a word is given."""
        text, units = self._text, self._units(runs)
        label = self._label
        free, room = text.named(f"{label}_write_free"), text.named(f"{label}_store_room")
        width = self._array.width * runs.word
        queue = self._made.fifo(
            text,
            f"{label}_results",
            width,
            QUEUE,
            {
                "in_data": self._core[f"{stream}_data"],
                "in_valid": self._core[f"{stream}_valid"],
                "out_ready": room,
            },
        )
        self._served.core[f"{stream}_ready"] = queue["in_ready"]
        valid = queue["out_valid"]
        if self._lead:
            bits = bits_unsigned(runs.elements // runs.word)
            ahead = text.compare("ne", self._lead, text.const(0, bits), bits)
            valid = text.all_of(valid, ahead)
        ready = text.named(f"{label}_write_ready")
        module = self._made.take(packer_module(f"{self._name}_pack", units, self._made))
        data = self._cells(queue["out_data"], runs.word)
        lines = self._run_of(
            "pack", module, units, {"in_data": data, "in_valid": valid, "out_ready": ready}
        )
        taken = lines["in_ready"]
        if self._lead:
            taken = text.all_of(taken, ahead)
        text.alias(room, taken, 1)
        orders = self._requests("write", units, free)
        words = lines["out_data"], lines["out_strobe"], lines["out_valid"]
        found = self._gang.write(f"{label}_writer", orders, words)
        text.alias(free, found["free"], 1)
        text.alias(ready, found["ready"], 1)
        self._served.bad.append(found["bad"])
        self._served.stored = text.all_of(text.invert(self._asking), found["idle"])
        return text.all_of(valid, room)

    # --- runs -------------------------------------------------------------------------

    def _units(self, runs: Runs) -> Units:
        return Units.of(runs, self._array.cell, self._master.width)

    def _beats(self, units: Units) -> int:
        return bits_unsigned(units.most_lines)

    def _walk(self, way: str, units: Units, take: str) -> tuple[str, str]:
        """A walk over the runs: start and valid."""
        kind = {"read": "load", "unpack": "load", "write": "store", "pack": "store"}.get(way, way)
        module = self._made.take(walker_module(f"{self._name}_{kind}_runs", units))
        inputs = {"go": self._go, "take": take}
        found = put_instance(self._text, f"{self._label}_{way}_runs", module, inputs)
        return found["start"], found["valid"]

    def _requests(self, way: str, units: Units, free: str) -> Orders:
        """What the engines are told of each run."""
        text, line, bits = self._text, units.line, units.start_bits
        start, valid = self._walk(way, units, free)
        self._asking = valid
        shift = line.bit_length() - 1
        size = (self._master.width // len(self._addresses) // 8).bit_length() - 1
        bases = self._addresses
        if units.starts[1] >= line:
            number = text.slice(start, shift, bits - shift, bits)
            parts = (
                [(text.const(0, size), size), (number, bits - shift)] if size else [(number, bits)]
            )
            width = bits - shift + size
            far = text.extend(concat(text, parts), width, ADDRESS, signed=False)
            bases = [text.binary("add", base, far, ADDRESS) for base in bases]
        beats = self._beats(units)
        many = text.const(units.most_lines, beats)
        if not units.is_aligned:
            wide = bits_unsigned(2 * line - 2 + units.length)
            offset = text.slice(start, 0, min(shift, bits), bits)
            offset = text.extend(offset, min(shift, bits), wide, signed=False)
            end = text.binary("add", offset, text.const(units.length + line - 1, wide), wide)
            many = text.slice(end, shift, wide - shift, wide)
            many = text.extend(many, wide - shift, beats, signed=False)
        return Orders(text.all_of(valid, free), bases, many, beats)

    def _run_of(
        self, way: str, module: ModuleBuilder, units: Units, inputs: dict[str, str]
    ) -> dict[str, str]:
        """An instance of a gearbox, with a walk of its own."""
        take = self._text.named(f"{self._label}_{way}_take")
        start, valid = self._walk(way, units, take)
        given = {**inputs, "run_start": start, "run_valid": valid}
        found = put_instance(self._text, f"{self._label}_{way}", module, given)
        self._text.alias(take, found["run_take"], 1)
        return found

    # --- elements ---------------------------------------------------------------------

    def _elements(self, cells: str, count: int) -> str:
        """The elements in cells of memory, one after the other."""
        text, width, cell = self._text, self._array.width, self._array.cell
        if width == cell:
            return cells
        parts = [(text.slice(cells, n * cell, width, cell * count), width) for n in range(count)]
        return concat(text, parts)

    def _cells(self, word: str, count: int) -> str:
        """Elements, each in its cell."""
        text, width, cell = self._text, self._array.width, self._array.cell
        if width == cell:
            return word
        parts = []
        for number in range(count):
            each = text.slice(word, number * width, width, width * count)
            parts.append((text.extend(each, width, cell, signed=self._array.signed), cell))
        return concat(text, parts)
