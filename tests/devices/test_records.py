"""A device family is a record; one that breaks a rule is refused, and the message names its field."""

from __future__ import annotations

import copy
import pickle
import re
import subprocess
from collections.abc import Iterator
from dataclasses import fields, replace
from typing import Any

import pytest

import allo
from allo.backend import devices
from allo.backend.devices import DeviceRecord
from allo.errors import BuildError, DeviceError, OptionError
from allo.ir.types import int32
from tests.house.tree import ROOT

OWN = devices.families()
EXEMPT = ("backend/devices/", "allo/boards/known/", "scripts/requirements", "benchmarks/figures/")
"""Where families may be named."""


@pytest.fixture
def toy() -> Iterator[DeviceRecord]:
    """A family of a user, forgotten afterwards."""
    yield replace(devices.family("ecp5"), name="toy", title="A toy")
    devices.unregister("toy")


def product(a: int32, b: int32) -> int32:
    return a * b + 1


def test_there_is_a_record_a_family() -> None:
    assert OWN[0] == devices.DEFAULT_DEVICE
    for name in OWN:
        record = devices.family(name)
        assert (type(record), record.name) == (DeviceRecord, name)


PARTS = [
    devices.DeviceRecord, devices.OperatorDelays, devices.SignalDelays, devices.Cells,
    devices.RegisteredBlock, devices.Netlist, devices.Synthesis, devices.Routing,
    devices.CellUse, devices.Part, devices.MappingDelays,
]  # fmt: skip


def test_every_field_is_explained() -> None:
    """The docstring of a part of the record has a line for each field."""
    lacking = [
        f"{part.__name__}.{field.name}"
        for part in PARTS
        for field in fields(part)
        if not re.search(rf"^\s+.*\b{field.name}\b.*:|``{field.name}``", part.__doc__ or "", re.M)
    ]
    assert not lacking


def test_a_page_says_how_each_figure_is_obtained() -> None:
    page = (ROOT / "docs" / "internals" / "device_record.md").read_text()
    told = set(re.findall(r"`(\w+)`", page))
    assert [
        f"{part.__name__}.{f.name}" for part in PARTS for f in fields(part) if f.name not in told
    ] == []


def test_a_registered_family_builds_estimates_and_synthesises(toy: DeviceRecord) -> None:
    devices.register(toy)
    assert devices.families() == (*OWN, "toy")
    schedule = allo.customize(product)
    like = schedule.estimate(device="ecp5", clock_mhz=50)
    found = schedule.estimate(device="toy", clock_mhz=50)
    assert (found.resources, found.fmax_mhz) == (like.resources, like.fmax_mhz)
    built = schedule.build(target="verilog", simulator="jit", device="toy", clock_mhz=50)
    assert built(6, 7) == 43
    assert "hardware by Allo for toy at 50 MHz" in built.verilog
    assert built.synthesize().dsp == found.resources["dsp"]


def test_the_delays_of_a_registered_family_count(toy: DeviceRecord) -> None:
    slow = replace(toy.signals, wire=2 * toy.signals.wire)
    devices.register(replace(toy, signals=slow))
    schedule = allo.customize(product)
    fast = schedule.estimate(device="ecp5", clock_mhz=50).fmax_mhz
    found = schedule.estimate(device="toy", clock_mhz=50).fmax_mhz
    assert fast is not None and found is not None and found < fast


def test_the_refusal_of_an_unknown_family_names_those_that_are_there(toy: DeviceRecord) -> None:
    devices.register(toy)
    schedule = allo.customize(product)
    with pytest.raises(OptionError) as caught:
        schedule.estimate(device="toys")
    assert caught.value.message.endswith(f"'{OWN[-1]}' or 'toy', not 'toys'.")
    with pytest.raises(BuildError) as unknown:
        devices.family("toys")
    assert unknown.value.message == "There is no device family 'toys'."


def test_a_record_that_lacks_a_field_is_refused() -> None:
    given = {f.name: getattr(devices.family("ecp5"), f.name) for f in fields(DeviceRecord)}
    del given["signals"]
    with pytest.raises(DeviceError) as caught:
        devices.register(DeviceRecord(**given))
    assert caught.value.message == (
        "A device's record lacks the field 'signals' of DeviceRecord."
    )  # fmt: skip
    with pytest.raises(DeviceError, match="lacks the field 'wire' of SignalDelays"):
        devices.SignalDelays(clock_out=0.5, table=0.2)  # type: ignore[call-arg]


def test_a_field_that_no_record_has_is_refused() -> None:
    with pytest.raises(DeviceError, match="no field 'wires' in SignalDelays") as caught:
        replace(devices.family("ecp5").signals, wires=1.0)
    assert (caught.value.help or "").startswith("did you mean 'wire'?")


@pytest.mark.parametrize(
    ("part", "field", "value", "message"),
    [
        (
            "operators", "level_ns", -0.1,
            "The field operators.level_ns of device family 'toy' takes a number that is finite and not "
            "negative, not -0.1.",
        ),
        (
            "signals", "wire", "fast",
            "The field signals.wire of device family 'toy' takes a number that is finite and not negative, "
            "not 'fast'.",
        ),
        (
            "signals", "carry", float("nan"),
            "The field signals.carry of device family 'toy' takes a number that is finite and not negative, "
            "not nan.",
        ),
        (
            "cells", "inputs", 4.0,
            "The field cells.inputs of device family 'toy' takes an integer that is not negative, not 4.0.",
        ),
        (
            "cells", "dsp", (18,),
            "The field cells.dsp of device family 'toy' takes a tuple of 2, not (18,).",
        ),
        (
            "cells", "blocks", ((((512, -1),), 1),),
            "The field cells.blocks[0][0][0][1] of device family 'toy' takes an integer that is not "
            "negative, not -1.",
        ),
        (
            "netlist", "early_writes", 1,
            "The field netlist.early_writes of device family 'toy' takes True or False, not 1.",
        ),
        (
            "operators", "margin", 1.5,
            "The field operators.margin of device family 'toy' is more than 0 and at most 1, not 1.5.",
        ),
        (
            "operators", "dsp_shape", (0, 0),
            "The field operators.dsp_shape of device family 'toy' is two widths, the larger first, not "
            "(0, 0).",
        ),
        (
            "part", "resources", {"lut": -5},
            "The field part.resources['lut'] of device family 'toy' takes an integer that is not negative, "
            "not -5.",
        ),
        ("", "signals", None, "The field signals of device family 'toy' takes a SignalDelays, not None."),
        (
            "", "synthesis", "yosys",
            "The field synthesis of device family 'toy' takes a Synthesis or None, not 'yosys'.",
        ),
        (
            "", "name", "My device",
            "The field name of a device family takes a word of lower-case letters, digits and '_', not "
            "'My device'.",
        ),
        ("", "name", "ecp5", "There is a device family 'ecp5' already."),
    ],
)  # fmt: skip
def test_a_wrong_figure_is_refused_with_its_field(
    part: str, field: str, value: Any, message: str
) -> None:
    record = replace(devices.family("ecp5"), name="toy")
    if part:
        changed = replace(getattr(record, part), **{field: value})
        record = replace(record, **{part: changed})
    else:
        record = replace(record, **{field: value})
    with pytest.raises(DeviceError) as caught:
        devices.register(record)
    assert caught.value.message == message
    assert caught.value.help
    assert devices.families() == OWN


def test_what_is_no_record_is_refused() -> None:
    with pytest.raises(DeviceError, match=r"A device family is a DeviceRecord, not 'ecp5'\."):
        devices.register("ecp5")  # type: ignore[arg-type]


def test_own_families_stay() -> None:
    with pytest.raises(DeviceError, match="'ecp5' is one of Allo's own"):
        devices.unregister("ecp5")


def test_records_can_be_copied() -> None:
    record = devices.family("ecp5")
    assert copy.deepcopy(record) == record
    assert pickle.loads(pickle.dumps(record)) == record


def test_no_other_file_names_a_family() -> None:
    """A package of the lock file and recorded figures are called so; a board names its own."""
    names = "|".join(name for name in OWN if name != "generic")
    folders = ("allo", "backend", "dialects", "designs", "benchmarks", "scripts")
    found = subprocess.run(
        ["git", "grep", "-nwE", f"({names})", "--", *folders],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    lines = [line for line in found.stdout.splitlines() if not line.startswith(EXEMPT)]
    assert lines == []


@pytest.mark.parametrize(
    ("part", "name"),
    [("xc7z020clg400-1", "xc7"), ("xczu3eg-sbva484-1-e", "xcup"), ("a part of nobody", "xcup")],
)
def test_the_family_of_a_vendors_part(part, name):
    assert devices.family_of_part(part) == name
