"""A checker of command traces, written from the rules of JESD79-4, JESD235 and JESD209-4 alone."""

from __future__ import annotations

from collections.abc import Iterable

from allo.backend.sim.dram.channel import Command
from allo.backend.sim.dram.devices import Device

COLUMN = ("RD", "WR")
BANK, GROUP, ANY = range(3)


def distances(d: Device):
    """Name, earlier commands, later commands, scope, least time in ns."""
    ck = 1e3 / d.mhz
    written = (d.cwl_ck + d.bl_ck) * ck
    return [
        ("tRCD", ("ACT",), COLUMN, BANK, d.rcd),
        ("tRAS", ("ACT",), ("PRE", "PREA"), BANK, d.ras),
        ("tRP", ("PRE", "PREA"), ("ACT", "REF"), BANK, d.rp),
        ("tRC", ("ACT",), ("ACT",), BANK, d.ras + d.rp),
        ("tRRD_S", ("ACT",), ("ACT",), ANY, d.rrd_s),
        ("tRRD_L", ("ACT",), ("ACT",), GROUP, d.rrd_l),
        ("tCCD_S", COLUMN, COLUMN, ANY, d.ccd_s_ck * ck),
        ("tCCD_L", COLUMN, COLUMN, GROUP, d.ccd_l_ck * ck),
        ("tWTR_S", ("WR",), ("RD",), ANY, written + d.wtr_s),
        ("tWTR_L", ("WR",), ("RD",), GROUP, written + d.wtr_l),
        ("tRTW", ("RD",), ("WR",), ANY, (d.cl_ck + d.bl_ck + 2 - d.cwl_ck) * ck),
        ("tRTP", ("RD",), ("PRE", "PREA"), BANK, d.rtp),
        ("tWR", ("WR",), ("PRE", "PREA"), BANK, written + d.wr),
        ("tRFC", ("REF",), ("ACT", "REF"), ANY, d.rfc),
    ]


def broken_rules(commands: Iterable[Command], d: Device) -> set[str]:
    """The names of the rules that a trace breaks."""
    found: set[str] = set()
    ck, rules = 1e3 / d.mhz, distances(d)
    last: dict[tuple, float] = {}  # (command, scope, place) -> time of the latest
    rows: dict[tuple[int, int], int] = {}
    acts: list[float] = []
    refreshes: list[float] = []
    buses: dict[str, float] = {}
    data = -1.0
    for c in commands:
        now, place = c.time * ck, {BANK: (c.group, c.bank), GROUP: c.group, ANY: ()}
        for name, earlier, later, scope, least in rules:
            if c.name not in later:
                continue
            everywhere = c.name in ("PREA", "REF")
            before = [
                t
                for (command, s, at), t in last.items()
                if command in earlier
                and ((s == scope and (everywhere or at == place[scope])) or at == "all")
            ]
            if before and now - max(before) < least - 1e-3:
                found.add(name)
        bus = "column" if c.name in COLUMN and not d.one_bus else "row"
        if now - buses.get(bus, -ck) < ck - 1e-3:
            found.add("bus")
        buses[bus] = now
        if c.name == "ACT":
            if place[BANK] in rows:
                found.add("open twice")
            rows[place[BANK]] = c.row
            acts.append(now)
            if len(acts) > 4 and now - acts[-5] < d.faw - 1e-3:
                found.add("tFAW")
        elif c.name in COLUMN:
            if rows.get(place[BANK]) != c.row:
                found.add("wrong row")
            begin = now + (d.cl_ck if c.name == "RD" else d.cwl_ck) * ck
            if begin < data - 1e-3:
                found.add("data bus")
            data = begin + d.bl_ck * ck
        elif c.name == "PRE":
            rows.pop(place[BANK], None)
        elif c.name == "PREA":
            rows.clear()
        else:
            if rows:
                found.add("refresh of open rows")
            refreshes.append(now)
            # Eight refreshes may be postponed.
            if now > (len(refreshes) + 8) * d.refi:
                found.add("tREFI")
        if c.name in ("PREA", "REF"):
            last[c.name, ANY, "all"] = now
        else:
            for scope in (BANK, GROUP, ANY):
                last[c.name, scope, place[scope]] = now
    if now > (len(refreshes) + 9) * d.refi:
        found.add("tREFI")
    return found
