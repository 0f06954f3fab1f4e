"""The options of ``build`` and of each target. One line adds one: name, kind, default, meaning."""

from __future__ import annotations

from ..diagnostics import SURPRISES, BoardError, InvalidModeError, UnsupportedTargetError
from .common import CYCLES, LINKS, MEGAHERTZ, ONE_CHANNEL, PROBABILITY, SECONDS, SEED, SIMULATORS
from .groups import BUILD, CPU, FLUSHING_HLS, HLS, RTL, SIMULATED, XLS
from .kinds import (
    Anything,
    Called,
    Choice,
    Either,
    Flag,
    Instance,
    Integer,
    Items,
    Listed,
    Named,
    PathName,
    Text,
)
from .option import Above, Option
from .rows import rows

_CHANNELS = Either(Either(ONE_CHANNEL, Items(ONE_CHANNEL)), Instance("a PerBank", ("PerBank",)))
_STREAM = Instance("a StreamModel", ("StreamModel",))
_BANK = Either(Integer(0, 4095), Text("a memory bank such as 'HBM[3]'"))
_INTERFACE = Either(
    Text("one kind of interface for all arrays"),
    Named(Either(Text("a kind of interface"), Named(Anything("a field of it")))),
)

_build = rows(BUILD)
_cpu = rows(*CPU)
_hls = rows(*HLS)
_xls = rows(*XLS)
_run = rows(*CPU, *HLS, *SIMULATED)
_flushing = rows(*CPU, *FLUSHING_HLS, *RTL)
_rtl = rows(*RTL)
_estimated = rows("systemverilog")
_sim = rows(*SIMULATED)

TARGET_OPTIONS: tuple[Option, ...] = (
    _build(
        "target",
        Text("the name of a target"),
        "llvm",
        "It selects the back end; `allo targets` lists the names.",
        none=True,
        error=UnsupportedTargetError,
    ),
    _build(
        "mode",
        Text("the name of a step"),
        None,
        "It is the step of the target that a call runs, such as 'csim'.",
        none=True,
        error=InvalidModeError,
    ),
    _build("project", PathName(), None, "The project is written to this folder.", none=True),
    _build(
        "configs",
        Named(Anything()),
        None,
        "It holds options of the target, like the keywords of `build`.",
        none=True,
    ),
    _build("wrap_io", Flag(), True, "HLS targets load and store arrays through burst functions."),
    _build(
        "reassociate",
        Flag(),
        False,
        "Sums and products of floats are balanced trees, on every target alike; they round otherwise.",
    ),
    _build(
        "warnings",
        Either(Flag(), Items(Choice(tuple(SURPRISES)))),
        True,
        "The kinds of `AlloWarning` that are given; False gives none.",
    ),
    # --- CPU ----------------------------------------------------------------------------
    _cpu(
        "fast_math",
        Flag(),
        False,
        "Math functions come from the C library, which is faster but not bit-equal to hardware.",
    ),
    _cpu("opt_level", Integer(0, 3), 3, "It is the optimisation level of LLVM."),
    _run(
        "check_bounds",
        Flag(),
        False,
        "A subscript out of range raises BoundsError when the design runs; HLS targets check it in csim.",
    ),
    _run(
        "check_dependences",
        Flag(),
        False,
        "An asserted dependence that fails raises DependenceError when the design runs; in csim for HLS.",
    ),
    _flushing(
        "subnormals",
        Choice(("keep", "flush")),
        "keep",
        "'flush' computes with floats whose subnormals are zeros of their signs, on every target alike.",
    ),
    # --- HLS ----------------------------------------------------------------------------
    _hls(
        "device",
        Text("the name of a board or card"),
        None,
        "It is the device a project is made for; None means u280, or pynqz2 for pynq.",
        none=True,
    ),
    _hls(
        "frequency",
        MEGAHERTZ,
        None,
        "It is the clock in MHz; None means 300, or 100 for pynq on a Zynq-7000 board.",
        none=True,
    ),
    _hls(
        "mode",
        Text("the name of a step"),
        None,
        "The argument mode= of build takes precedence.",
        none=True,
        error=InvalidModeError,
    ),
    _hls(
        "hbm_mapping",
        Named(Either(_BANK, Items(_BANK))),
        None,
        'It places arguments in banks: {"A": 0, "output_0": "HBM[1]"}; rows in several: {"W": [2, 3]}.',
        none=True,
    ),
    _hls(
        "num_output_args",
        Integer(0, 65535),
        None,
        "It is the number of trailing arguments that are outputs.",
        none=True,
    ),
    _hls(
        "mappings",
        Items(Anything("a data-movement pattern")),
        None,
        "It is accepted and has no effect; every port is moved in row-major order.",
        none=True,
    ),
    _hls("timeout", SECONDS, 3600.0, "It limits one run of an external tool."),
    _hls(
        "fallback",
        Flag(),
        True,
        "Without the vendor's tool, csyn, cosim and emulation run on Allo's own simulators.",
    ),
    _hls(
        "progress",
        Called("a function of one line of text"),
        None,
        "It is called with each line that a tool prints.",
        none=True,
    ),
    # --- XLS ----------------------------------------------------------------------------
    _xls("use_memory", Flag(), False, "Array ports are memories rather than channels."),
    # --- RTL ----------------------------------------------------------------------------
    _rtl(
        "clock_mhz", MEGAHERTZ, 200.0, "It is the clock in MHz for which operators are pipelined."
    ),
    _rtl(
        "frequency",
        MEGAHERTZ,
        None,
        "It is another name for clock_mhz, as the HLS targets call it.",
        none=True,
    ),
    _rtl(
        "device",
        Listed("allo.backend.devices:families"),
        Above("allo.backend.devices:DEFAULT_DEVICE"),
        "It is the device family whose delays the operators are pipelined for.",
    ),
    _rtl(
        "external",
        Items(Text("the name of an array")),
        (),
        "These arrays are in external memory; arrays named in memory= always are.",
    ),
    _rtl(
        "interface",
        _INTERFACE,
        None,
        "It gives arguments the interfaces of a board, by name: {'A': 'm_axi', 'n': 's_axilite'}.",
        none=True,
    ),
    _rtl(
        "max_dsp",
        Integer(0, 1_000_000),
        None,
        "It may take so many multiplier blocks; units are packed or made of lookup tables for that.",
        none=True,
    ),
    _rtl(
        "max_lut",
        Integer(0, 100_000_000),
        None,
        "It may take so many lookup tables by its estimate; units are moved to multiplier blocks for that.",
        none=True,
    ),
    _rtl(
        "effort",
        Choice(("quick", "exact")),
        "quick",
        "With 'exact', schedules of loops are proved to be the best ones, or how far they are from them.",
    ),
    _estimated(
        "regions",
        Named(Either(Integer(0, 63), Items(Integer(0, 63)))),
        None,
        "For `estimate` alone: the region of the device of each process, or of each of one name.",
        none=True,
    ),
    _rtl(
        "overlap_loops",
        Flag(),
        True,
        "A loop around pipelines runs them at once where that is faster and takes no more units.",
    ),
    _sim(
        "stalls",
        PROBABILITY,
        0.0,
        "It is the probability with which each channel of each bus stalls in a cycle.",
    ),
    _sim(
        "board",
        Listed("allo.boards:boards"),
        None,
        "It is the board that bitstreams are for, whose family is the device.",
        none=True,
        error=BoardError,
    ),
    _sim(
        "link",
        Choice(LINKS),
        "uart",
        "It is how the bytes of calls come to a board: 'uart' by its serial port, 'fifo245' by an FT232H.",
    ),
    _sim(
        "simulator",
        Choice(SIMULATORS),
        "verilator",
        "It is the engine: 'verilator' is the reference, 'jit' runs in this process.",
        error=UnsupportedTargetError,
    ),
    _sim("max_cycles", CYCLES, None, "A run is given up after this many cycles.", none=True),
    _sim(
        "memory",
        Either(Choice(("ideal", "dram")), Named(_CHANNELS)),
        None,
        "It connects arrays to channels of external memory; 'ideal' or 'dram' those that are placed.",
        none=True,
    ),
    _sim(
        "streams",
        Named(_STREAM),
        None,
        "It describes what is outside of stream ports, by name.",
        none=True,
    ),
    _sim("timeout", SECONDS, 1800.0, "It limits one run of an external tool."),
    _sim(
        "randomize",
        SEED,
        None,
        "It is the seed of random initial contents of registers and memories; None means zeros.",
        none=True,
    ),
)
