"""A board as data: its part, what is soldered to it, and the pins by what they are for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from allo.backend.devices import Pll, family


@dataclass(frozen=True, slots=True)
class Pin:
    """A pin of the device that a board joins to something.

    Attributes:
        site: its name in the package.
        attributes: of its buffer, by the names of the family's constraints: ``IO_TYPE`` of ECP5 and Gowin.
        low: it is active at 0: a button that shorts to ground, a LED that is lit by 0.
    """

    site: str
    attributes: Mapping[str, str] = field(default_factory=dict)
    low: bool = False


@dataclass(frozen=True, slots=True)
class Sdram:
    """An SDR SDRAM of four banks, as its data sheet has it; times are in ns.

    Attributes:
        row_bits, column_bits: of its addresses.
        power_up: before the first command.
        rcd: from opening a row to reading or writing in it.
        rp: from closing a row to opening another.
        ras: from opening a row to closing it.
        rc: from opening a row to opening another one of its bank.
        rrd: from opening a row to opening one of another bank.
        wr: from a word written to closing its row.
        rfc: of a refresh.
        refresh: between refreshes, on average.
        cas: clocks from a read to its word.
        clock: the shortest clock with that many.
    """

    row_bits: int
    column_bits: int
    power_up: float
    rcd: float
    rp: float
    ras: float
    rc: float
    rrd: float
    wr: float
    rfc: float
    refresh: float
    cas: int
    clock: float


@dataclass(frozen=True, slots=True)
class BoardMemory:
    """A memory on a board, beside the device or in its package.

    Attributes:
        kind: ``"sdram"``, ``"ddr3"``, ``"ddr4"``, ``"hyperram"``, ``"psram"``, ``"spram"`` or ``"hbm"``.
        bytes: how much it holds.
        width: bits of its data bus.
        part: its vendor's name; several where boards differ.
        sdram: what the shell's controller must know of it; None where it does not serve it.
    """

    kind: str
    bytes: int
    width: int
    part: str = ""
    sdram: Sdram | None = None


OPEN = "open"
VIVADO = "vivado"


@dataclass(frozen=True, slots=True, kw_only=True)
class Board:
    """One board.

    Attributes:
        name: what ``board=`` takes: lower-case letters, digits and ``-``.
        title: what its maker calls it.
        family: a family of :mod:`allo.backend.devices`, whose tools and delays it has.
        part: the vendor's name of the device.
        resources: how many of each this device has: ``lut``, ``ff``, ``dsp``, ``bram``, ``uram``.
        tool_arguments: of nextpnr, which say that it is this part.
        pack_arguments: of the program that makes the bitstream.
        oscillator_mhz: the clock at the pin ``"clock"``; 0 where processors or the card make it.
        pins: by role: ``"clock"``, ``"serial_rx"`` (into the device), ``"serial_tx"``, ``"reset"``,
            ``"led[0]"``…, ``"button[0]"``…, ``"sdram_a[0]"``….
        clock_generator: which of its family's clock generators the oscillator feeds; "" for none.
        memories: what it has beside the device.
        programmer: arguments of openFPGALoader.
        tools: ``"open"``, or ``"vivado"`` where only the vendor's tools make its bitstreams.
        platform: what runs a design there: "" for its own shell, ``"zynq7"`` or ``"zynqmp"`` for the
            processors of the device, ``"alveo"`` for XRT on the host of a card.
        xrt_platform: of a card, the name that Vitis links for.
        own_pll: its clock generator, where its family's record has none.
        port: its serial port under Linux, where no other adapter is there.
        cables: how it is powered, programmed and called, as a sentence.
        notes: what its user must know, as sentences.
    """

    name: str
    title: str
    family: str
    part: str
    resources: Mapping[str, int]
    oscillator_mhz: float
    pins: Mapping[str, Pin]
    tool_arguments: tuple[str, ...] = ()
    pack_arguments: tuple[str, ...] = ()
    clock_generator: str = ""
    memories: tuple[BoardMemory, ...] = ()
    programmer: tuple[str, ...] = ()
    tools: str = OPEN
    platform: str = ""
    xrt_platform: str = ""
    own_pll: Pll | None = None
    port: str = ""
    cables: str = ""
    notes: tuple[str, ...] = ()

    @property
    def pll(self) -> Pll | None:
        """The clock generator that its oscillator feeds, or None."""
        if self.own_pll is not None:
            return self.own_pll
        bitstream = family(self.family).bitstream
        return bitstream.plls.get(self.clock_generator) if bitstream is not None else None


def bus(role: str, sites: str, **attributes: str) -> dict[str, Pin]:
    """Pins of one role, the lowest bit first; one site alone has the role without a number."""
    names = sites.split()
    if len(names) == 1:
        return {role: Pin(names[0], attributes)}
    return {f"{role}[{k}]": Pin(site, attributes) for k, site in enumerate(names)}


def low(pins: Mapping[str, Pin]) -> dict[str, Pin]:
    """The same pins, active at 0."""
    return {role: Pin(pin.site, pin.attributes, low=True) for role, pin in pins.items()}
