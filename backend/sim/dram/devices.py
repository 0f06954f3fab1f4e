"""The devices: geometry and timings of one channel of each kind of dynamic memory.

Timings of HBM2 and DDR4-2400 were read from DRAMsim3's ``HBM2_8Gb_x128.ini`` and
``DDR4_8Gb_x8_2400.ini``, but for those that ``unchecked`` names, which were not held against any source
that we could read. ``front_ns`` alone is fitted, to the published latency of a row hit.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from .switch import Switch

TIMINGS = (
    *("cl_ck", "cwl_ck", "rcd", "rp", "ras", "rtp", "wr", "rrd_s", "rrd_l", "ccd_s_ck", "ccd_l_ck"),
    *("wtr_s", "wtr_l", "faw", "rfc", "refi"),
)
PARTS = {"R": 0, "B": 1, "G": 2, "C": 3}


@dataclass(frozen=True, slots=True)
class Device:
    """One channel; times in ns, but for those that say ``_ck``: cycles of the memory's clock.

    Attributes:
        mhz: the clock of the memory.
        burst_bytes: what one read or write moves, in ``bl_ck`` cycles.
        mapping: which bits of an address, from the highest, are row (R), bank group (G), bank (B)
            and column (C), as in "14R 1G 2B 5C 1G".
        front_ns: what controller, PHY and port add to a read.
        queue: requests that the controller chooses from, for each direction.
        one_bus: row and column commands share one bus.
        unchecked: those of :data:`TIMINGS` that were not read from a source.
        switch: between the channels and the ports of the device that has them; None where there is none.
    """

    mhz: float
    burst_bytes: int
    bl_ck: int
    mapping: str
    cl_ck: int
    cwl_ck: int
    rcd: float
    rp: float
    ras: float
    rtp: float
    wr: float
    rrd_s: float
    rrd_l: float
    ccd_s_ck: int
    ccd_l_ck: int
    wtr_s: float
    wtr_l: float
    faw: float
    rfc: float
    refi: float
    front_ns: float
    queue: int = 64
    one_bus: bool = True
    unchecked: tuple[str, ...] = ()
    switch: Switch | None = None

    def cycles(self, time: float) -> int:
        """A time in ns as cycles, rounded up."""
        return math.ceil(time * self.mhz / 1e3 - 1e-6)

    def address_bits(self) -> bytes:
        """What each bit of a burst's number is, from the lowest."""
        fields = re.findall(r"(\d+)([RBGC])", self.mapping)
        bits = [PARTS[part] for count, part in fields for _ in range(int(count))]
        return bytes(reversed(bits))

    def words(self) -> list[int]:
        """The fields of ``Timing`` in ``cpp/dram.hpp``."""
        bits, c = self.address_bits(), self.cycles
        return [
            self.burst_bytes.bit_length() - 1,
            *(bits.count(PARTS[part]) for part in "GB"),
            *(self.cl_ck, self.cwl_ck, self.bl_ck),
            *(c(each) for each in (self.rcd, self.rp, self.ras, self.rtp, self.wr)),
            *(c(self.rrd_s), c(self.rrd_l), self.ccd_s_ck, self.ccd_l_ck),
            *(c(self.wtr_s), c(self.wtr_l), self.read_to_write),
            *(c(self.faw), c(self.rfc), c(self.refi), self.queue),
            *(c(1000.0), c(self.front_ns), int(self.one_bus)),
        ]

    @property
    def read_to_write(self) -> int:
        """Cycles from a read to a write: the data bus turns within two."""
        return self.cl_ck + self.bl_ck + 2 - self.cwl_ck

    @property
    def hit_ns(self) -> float:
        """The time of a read from an open row, with nothing before it."""
        return self.front_ns + (self.cl_ck + self.bl_ck) * 1e3 / self.mhz

    @property
    def in_order(self) -> float:
        """The share of its peak that a reader in order has: a refresh closes all rows, which open again."""
        return 1 - (self.rtp + self.rp + self.rfc + self.rcd) / self.refi

    @property
    def peak(self) -> float:
        """GB/s of the data bus."""
        return self.burst_bytes * self.mhz / self.bl_ck / 1e3


# fmt: off
HBM2 = Device(
    900, 32, 2, "14R 1G 2B 5C 1G", 13, 4, rcd=14, rp=14, ras=34, rtp=5, wr=16, rrd_s=4, rrd_l=6,
    ccd_s_ck=2, ccd_l_ck=4, wtr_s=6, wtr_l=8, faw=30, rfc=260, refi=3900, front_ns=90.0, one_bus=False,
    unchecked=("rtp", "ccd_s_ck", "ccd_l_ck"), switch=Switch())
HBM2E = Device(
    1600, 32, 2, "15R 1G 2B 5C 1G", 23, 8, rcd=14, rp=14, ras=34, rtp=5, wr=16, rrd_s=4, rrd_l=6,
    ccd_s_ck=2, ccd_l_ck=4, wtr_s=6, wtr_l=8, faw=16, rfc=350, refi=3900, front_ns=90.0, one_bus=False,
    unchecked=("cl_ck", "cwl_ck", "rtp", "ccd_s_ck", "ccd_l_ck", "faw", "rfc"))  # the others are HBM2's
DDR4_2400 = Device(
    1200, 64, 4, "17R 7C 2B 2G", 16, 16, rcd=13.32, rp=13.32, ras=32, rtp=7.5, wr=15, rrd_s=3.3, rrd_l=4.9,
    ccd_s_ck=4, ccd_l_ck=6, wtr_s=2.5, wtr_l=7.5, faw=21, rfc=350, refi=7800, front_ns=56.6, queue=32,
    unchecked=("rtp", "wr"))  # DRAMsim3 has no tRTP here, and a tWR of 19 cycles: one more
LPDDR4_4266 = Device(
    2133, 64, 8, "15R 3B 6C", 36, 18, rcd=18, rp=18, ras=42, rtp=7.5, wr=18, rrd_s=10, rrd_l=10,
    ccd_s_ck=8, ccd_l_ck=8, wtr_s=10, wtr_l=10, faw=40, rfc=280, refi=3904, front_ns=56.6, queue=32,
    unchecked=TIMINGS)
SDR_143 = Device(
    143, 16, 8, "13R 2B 6C", 3, 0, rcd=20, rp=20, ras=42, rtp=7, wr=14, rrd_s=14, rrd_l=14,
    ccd_s_ck=8, ccd_l_ck=8, wtr_s=0, wtr_l=0, faw=0, rfc=63, refi=7800, front_ns=28.0, queue=8,
    unchecked=TIMINGS)
# fmt: on

DEVICES = {
    "hbm2": HBM2,
    "hbm2e": HBM2E,
    "ddr4_2400": DDR4_2400,
    "lpddr4_4266": LPDDR4_4266,
    "sdr_143": SDR_143,
}
