"""Every option of builds and calls: wrong values are named errors, and the table says what the code does."""

from __future__ import annotations

import dataclasses
import inspect
import itertools
import pathlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import allo
import allo.dataflow as df
from allo.backend.hls.vendors.options import HlsOptions
from allo.backend.rtl.compile import compile_design
from allo.backend.sim import MemoryChannel, SimulationOptions, StreamModel, external_memory
from allo.cli import main
from allo.dialects.options import options_of
from allo.dialects.options.describe import markdown
from allo.dialects.options.groups import (
    BINDING,
    BITSTREAM,
    BUILD,
    CHANNEL,
    CPU,
    CUSTOMIZE,
    DF_BUILD,
    DF_CUSTOMIZE,
    IP_MODULE,
    MEMORY,
    RTL_CALL,
    STREAM,
    SYNTHESIS,
)
from allo.dialects.options.kinds import Refused
from allo.dialects.options.table import TABLE
from allo.errors import AlloError, InvalidModeError, OptionError, UnsupportedTargetError
from allo.ir.types import Stream, int32

HOSTILE: tuple[Any, ...] = (
    None,
    True,
    0,
    -1,
    1.5,
    float("nan"),
    float("inf"),
    -float("inf"),
    10**400,
    -(10**400),
    "",
    "x",
    "a\0b",
    "x" * 5000,
    "line\nline",
    b"x",
    [1],
    ["x"],
    {"A": object()},
    {1: 2},
    1 + 2j,
    np.zeros(3),
    np.float32("nan"),
    object(),
    len,
    pathlib.Path("x" * 300),
    {"A", "B"},
)


def scale(x: int32[4]):
    for i in range(4):
        x[i] = x[i] * 3


@df.region()
def copy(A: int32[4], B: int32[4]):
    pipe: Stream[int32, 2]

    @df.kernel(mapping=[1], args=[A])
    def feed(a: int32[4]):
        for i in range(4):
            pipe.put(a[i])

    @df.kernel(mapping=[1], args=[B])
    def take(b: int32[4]):
        for i in range(4):
            b[i] = pipe.get()


@pytest.fixture(scope="module")
def schedule():
    return allo.customize(scale)


@pytest.fixture(scope="module")
def hardware(schedule):
    return schedule.build(target="verilog", simulator="jit")


def attempts(schedule, hardware) -> dict[str, Callable[[str, Any], Any]]:
    """For each group of the table, how a user gives one of its options."""

    def build(name: str, value: Any) -> Any:
        return schedule.build(**{name: value})

    def outside(kind: type) -> Callable[[str, Any], Any]:
        required = {} if kind is StreamModel else {"name": "a", "bytes_per_cycle": 1}
        return lambda name, value: kind(**{**required, name: value})

    found: dict[str, Callable[[str, Any], Any]] = {
        BUILD: build,
        CUSTOMIZE: lambda name, value: allo.customize(scale, **{name: value}),
        DF_CUSTOMIZE: lambda name, value: df.customize(copy, **{name: value}),
        DF_BUILD: lambda name, value: df.build(copy, target="simulator", **{name: value}),
        RTL_CALL: lambda name, value: hardware(np.zeros(4, np.int32), **{name: value}),
        SYNTHESIS: lambda name, value: hardware.synthesize(**{name: value}),
        BITSTREAM: lambda name, value: hardware.bitstream("x.bit", **{name: value}),
        CHANNEL: outside(MemoryChannel),
        BINDING: lambda name, value: allo.Memory(**{name: value}),
        IP_MODULE: lambda name, value: allo.IPModule(**{"top": "f", "impl": "f.cpp", name: value}),
        STREAM: outside(StreamModel),
        MEMORY: lambda name, value: external_memory(
            **{"kind": "hbm2", "clock_mhz": 200, name: value}
        ),
    }
    for target in {group for option in TABLE for group in option.groups} - found.keys():

        def configured(name: str, value: Any, target: str = target) -> Any:
            return schedule.build(target=target, configs={name: value})

        found[target] = configured
    return found


def refuses(kind: Any, value: Any) -> bool:
    try:
        kind.read(value)
    except Refused:
        return True
    return False


def test_every_option_refuses_what_its_kind_does_not_accept(schedule, hardware) -> None:
    """From the table: a new option is tried with wrong values as soon as it has a row."""
    ways = attempts(schedule, hardware)
    groups = ways.keys() - {"intel_hls"}  # a platform of HLSModule, no target
    tried = 0
    for option, group in itertools.product(TABLE, groups):
        if group not in option.groups:
            continue
        for value in HOSTILE:
            if (value is None and option.none) or not refuses(option.kind, value):
                continue
            with pytest.raises(option.error) as caught:
                ways[group](option.name, value)
            assert f"Option {option.name} of " in caught.value.message
            assert f" takes {option.accepts}, not " in caught.value.message
            assert caught.value.help
            tried += 1
    assert tried > 1500


def test_every_option_but_open_ones_refuses_something() -> None:
    for option in TABLE:
        refused = sum(refuses(option.kind, value) for value in HOSTILE)
        assert refused >= 15, option


GIVEN: list[tuple[dict[str, Any], str]] = [
    ({"opt_level": 4}, "Option opt_level of target llvm takes an integer from 0 to 3, not 4."),
    ({"opt_level": True}, "an integer from 0 to 3, not True."),
    ({"fast_math": 1}, "Option fast_math of target llvm takes True or False, not 1."),
    ({"target": 5}, "Option target of build takes the name of a target, or None, not 5."),
    (
        {"target": "vitis_hls", "mode": "csim", "configs": {"timeout": [1]}},
        "Option timeout of target vitis_hls takes a number of seconds from 0.001 to 1e+09, not [1].",
    ),
    ({"target": "verilog", "clock_mhz": None}, "a number of MHz from 0.001 to 10000, not None."),
    ({"target": "verilog", "clock_mhz": float("nan")}, "from 0.001 to 10000, not nan."),
    ({"target": "verilog", "max_cycles": 0}, "takes an integer from 1 to"),
    ({"target": "verilog", "memory": 5}, "a dict from names to a MemoryChannel, or a list"),
    ({"target": "verilog", "memory": {"x": 5}}, "'x' is given 5."),
    ({"target": "verilog", "streams": {"x": 5}}, "takes a dict from names to a StreamModel"),
    ({"target": "verilog", "device": "xc8"}, "did you mean 'xc7'?"),
    ({"target": "verilog", "simulator": "verilater"}, "did you mean 'verilator'?"),
    ({"target": "verilog", "project": b"x"}, "Option project of build takes the name of a folder"),
    ({"target": "verilog", "project": "a\0b"}, "it holds a NUL character."),
    ({"target": "verilog", "project": "x" * 300}, "a name has at most 255 bytes"),
    ({"target": "verilog", "project": ""}, "it is empty."),
    ({"target": "verilog", "project": "~nobody-of-this-name/p"}, "is not known."),
    ({"configs": [1]}, "Option configs of build takes a dict"),
    ({"configs": {1: 2}}, "1 is no name."),
    ({"wrap_io": "no"}, "Option wrap_io of build takes True or False, not 'no'."),
    ({"target": "vhls", "configs": {"hbm_mapping": {"A": 1.5}}}, "'A' is given 1.5."),
    ({"target": "vhls", "configs": {"mappings": 5}}, "takes a list or tuple"),
    ({"target": "xls", "use_memory": "yes"}, "Option use_memory of target xls takes True or False"),
]


@pytest.mark.parametrize(("options", "text"), GIVEN, ids=lambda v: str(v)[:40])
def test_message(schedule, options: dict[str, Any], text: str) -> None:
    with pytest.raises(AlloError) as caught:
        schedule.build(**options)
    assert text in str(caught.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"opt_levl": 3}, "Target llvm has no option 'opt_levl'.\nhelp: did you mean 'opt_level'?"),
        (
            {"clock_mhz": 3},
            "Target llvm has no option 'clock_mhz'.\nhelp: it is an option of MemoryChannel, "
            "bitstream, external_memory, rtl, synthesize, systemverilog, verilog; its options: ",
        ),
        (
            {"target": "verilog", "configs": {"frequncy": 3}},
            "configs has no key 'frequncy' for target verilog.\nhelp: did you mean 'frequency'?",
        ),
        ({"target": "systemverilog", "simulator": "jit"}, "it is an option of"),
    ],
)
def test_unknown_option(schedule, options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError) as caught:
        schedule.build(**options)
    assert message in str(caught.value)


def test_unknown_option_of_a_call(schedule, hardware) -> None:
    with pytest.raises(OptionError, match="takes no option 'max_cycle'") as caught:
        hardware(np.zeros(4, np.int32), max_cycle=5)
    assert "did you mean 'max_cycles'?" in str(caught.value)
    with pytest.raises(OptionError, match="takes no option 'y'") as caught:
        schedule.build()(y=np.zeros(4, np.int32))
    assert "Arguments of the kernel: x." in str(caught.value)
    with pytest.raises(OptionError, match="customize has no option 'verbos'") as caught:
        allo.customize(scale, verbos=True)
    assert "did you mean 'verbose'?" in str(caught.value)
    with pytest.raises(OptionError, match="missing a required argument: 'fn'"):
        allo.customize()
    with pytest.raises(OptionError, match="variant of an RTLModule takes no option 'simulater'"):
        hardware.variant(simulater="jit")
    with pytest.raises(UnsupportedTargetError, match="not 'icarus'"):
        hardware.variant(simulator="icarus")


def test_modes_and_projects(schedule) -> None:
    with pytest.raises(InvalidModeError, match="Target llvm has no modes"):
        schedule.build(mode="csim")
    with pytest.raises(InvalidModeError, match="Target systemverilog writes no project"):
        schedule.build(target="systemverilog", project="p")
    with pytest.raises(AssertionError, match="Invalid mode 'sim' for target vitis_hls") as caught:
        schedule.build(target="vitis_hls", mode="sim")
    assert "did you mean 'csim'?" in str(caught.value)


def test_a_target_of_the_users_own_takes_what_it_likes(schedule) -> None:
    from allo.target import register_target

    seen = []
    register_target("of_this_test", lambda request: seen.append(request) or request.top)
    schedule.build(target="of_this_test", colour="red", configs={"depth": 4, "colour": "blue"})
    assert seen[0].settings == {"colour": "red", "depth": 4}


def test_defaults_of_the_table_are_those_of_the_code() -> None:
    rtl, sim = options_of("verilog"), dataclasses.fields(SimulationOptions)
    for field in sim:
        assert field.default == rtl[field.name].default, field.name
    parameters = inspect.signature(compile_design).parameters
    for name in ("clock_mhz", "device", "external"):
        assert parameters[name].default == rtl[name].default
    hls = options_of("vitis_hls")
    given = {f.name: f.default for f in dataclasses.fields(HlsOptions)}
    assert (given["timeout_s"], given["fallback"]) == (
        hls["timeout"].default,
        hls["fallback"].default,
    )
    assert f"None means {given['frequency']:g}" in hls["frequency"].doc
    calls: list[tuple[str, Callable[..., Any]]] = [
        (CUSTOMIZE, allo.customize),
        (DF_CUSTOMIZE, df.customize),
        (DF_BUILD, df.build),
        (BINDING, allo.Memory),
        (IP_MODULE, allo.IPModule),
        (CHANNEL, MemoryChannel),
        (STREAM, StreamModel),
    ]
    for group, function in calls:
        for name, parameter in inspect.signature(function).parameters.items():
            option = options_of(group).get(name)
            if option is not None and parameter.default is not parameter.empty:
                assert parameter.default == option.default, (group, name)
    cpu = inspect.signature(allo.LLVMModule).parameters
    for name, option in options_of(CPU[0]).items():
        assert cpu[name].default == option.default


def test_numbers_of_numpy_are_numbers(schedule) -> None:
    built = schedule.build(
        target="verilog", simulator="jit", clock_mhz=np.float32(100), max_cycles=np.int64(500)
    )
    x = np.arange(4, dtype=np.int32)
    built(x, max_cycles=np.uint16(400))
    assert x.tolist() == [0, 3, 6, 9]
    assert type(built.options.max_cycles) is int
    assert built.report.clock_mhz == 100


def test_the_page_holds_the_table() -> None:
    page = (pathlib.Path(__file__).parents[2] / "docs/options.md").read_text()
    assert page.endswith(f"\n\n{markdown().rstrip()}\n")


def test_options_of_one_target_are_printed(capsys) -> None:
    assert main(["options", "llvm"]) == 0
    assert capsys.readouterr().out == (
        "### `llvm`, `cpu`, `simulator`\n\n"
        "| option | takes | default | meaning |\n|---|---|---|---|\n"
        "| `fast_math` | True or False | `False` | Math functions come from the C library, "
        "which is faster but not bit-equal to hardware. |\n"
        "| `opt_level` | an integer from 0 to 3 | `3` | It is the optimisation level of LLVM. |\n\n"
        "### `llvm`, `cpu`, `simulator`, `vhls`, `vivado_hls`, `vitis_hls`, `pynq`, `tapa`, "
        "`catapult`, `ihls`, `intel_hls`, `verilog`, `rtl`\n\n"
        "| option | takes | default | meaning |\n|---|---|---|---|\n"
        "| `check_bounds` | True or False | `False` | A subscript out of range raises "
        "BoundsError when the design runs; HLS targets check it in csim. |\n"
        "| `check_dependences` | True or False | `False` | An asserted dependence that fails raises "
        "DependenceError when the design runs; in csim for HLS. |\n\n"
        "### `llvm`, `cpu`, `simulator`, `vhls`, `vivado_hls`, `vitis_hls`, `pynq`, `tapa`, "
        "`verilog`, `rtl`, `systemverilog`\n\n"
        "| option | takes | default | meaning |\n|---|---|---|---|\n"
        "| `subnormals` | 'keep' or 'flush' | `'keep'` | 'flush' computes with floats whose "
        "subnormals are zeros of their signs, on every target alike. |\n\n"
    )
    assert main(["options", "vhsl"]) == 1
    assert "Nothing called 'vhsl' takes options." in capsys.readouterr().err
