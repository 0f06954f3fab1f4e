"""The table of every option. One line adds one: name, kind, default, meaning, who takes it."""

from __future__ import annotations

from ..diagnostics import BuildError, InvalidModeError, OptionError, UnsupportedTargetError
from .kinds import (
    Anything,
    Called,
    Choice,
    Either,
    Flag,
    Instance,
    Integer,
    Items,
    Kind,
    Named,
    Number,
    PathName,
    Text,
)
from .option import Option

CPU = ("llvm", "cpu", "simulator")
HLS = ("vhls", "vivado_hls", "vitis_hls", "pynq", "tapa", "catapult", "ihls", "intel_hls")
XLS = ("xls", "xlscc")
SIMULATED = ("verilog", "rtl")
RTL = (*SIMULATED, "systemverilog")
EVERY_TARGET = (*CPU, *HLS, *XLS, *RTL)

BUILD = "build"
"""The group of what ``build`` takes whatever the target."""
DF_BUILD = "df.build"
CUSTOMIZE = "customize"
DF_CUSTOMIZE = "df.customize"
RTL_CALL = "a call of an RTLModule"
SYNTHESIS = "synthesize"
CHANNEL = "MemoryChannel"
STREAM = "StreamModel"
IP_MODULE = "IPModule"
BINDING = "Memory"
MEMORY = "external_memory"

_VIVADO_MODES = ("csim", "csyn", "cosim", "impl", "custom", "debug")
MODES: dict[str, tuple[str, ...]] = {
    "vhls": _VIVADO_MODES,
    "vivado_hls": _VIVADO_MODES,
    "vitis_hls": ("csim", "csyn", "cosim", "sw_emu", "hw_emu", "hw"),
    "pynq": ("csim", "csyn", "impl"),
    "tapa": ("csim", "fast_hw_emu", "hw_emu", "hw"),
    "catapult": ("csim", "csyn"),
    **dict.fromkeys(XLS, ("sw_emu",)),
}
"""The steps ``mode=`` may name, by target; a target that is not here has none."""

MODE_WITH_PROJECT = tuple(target for target in MODES if target not in XLS)
"""The targets whose projects are made for one step."""
PROJECTS = (*MODES, *SIMULATED)
"""The targets that write a project folder."""

_DEVICE_FAMILIES = ("xcup", "xc7", "ecp5", "generic")
_SYNTHESISED = ("xcup", "xc7", "ecp5")
_SIMULATORS = ("verilator", "jit")
_SECONDS = Number(0.001, 1e9, "seconds")
_MEGAHERTZ = Number(0.001, 10_000, "MHz")
_SEED = Integer(0, 2**63 - 1)
_CYCLES = Integer(1, 2**62)
_ONE_CHANNEL = Instance("a MemoryChannel", ("MemoryChannel",))
_CHANNELS = Either(_ONE_CHANNEL, Items(_ONE_CHANNEL))
_STREAM = Instance("a StreamModel", ("StreamModel",))
_BANK = Either(Integer(0, 4095), Text("a memory bank such as 'HBM[3]'"))
_PROBABILITY = Number(0.0, 1.0, open=True)
_INTERFACE = Either(
    Text("one kind of interface for all arrays"),
    Named(Either(Text("a kind of interface"), Named(Anything("a field of it")))),
)


def _rows(*groups: str) -> _Rows:
    return _Rows(groups)


class _Rows:
    """Makes rows for the same groups."""

    def __init__(self, groups: tuple[str, ...]) -> None:
        self._groups = groups

    def __call__(
        self,
        name: str,
        kind: Kind,
        default: object,
        doc: str,
        *,
        none: bool = False,
        error: type[BuildError] = OptionError,
    ) -> Option:
        return Option(name, kind, default, doc, self._groups, none, error)


_build = _rows(BUILD)
_cpu = _rows(*CPU)
_hls = _rows(*HLS)
_xls = _rows(*XLS)
_run = _rows(*CPU, *HLS, *SIMULATED)
_rtl = _rows(*RTL)
_sim = _rows(*SIMULATED)
_made = _rows(DF_BUILD)
_fn = _rows(CUSTOMIZE)
_region = _rows(DF_CUSTOMIZE)
_call = _rows(RTL_CALL)
_synthesis = _rows(SYNTHESIS)
_channel = _rows(CHANNEL)
_memory = _rows(MEMORY)
_ip = _rows(IP_MODULE)
_binding = _rows(BINDING)

TABLE: tuple[Option, ...] = (
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
    # --- HLS ----------------------------------------------------------------------------
    _hls(
        "device",
        Text("the name of a board or card"),
        None,
        "It is the device a project is made for; None means u280, or pynqz2 for pynq.",
        none=True,
    ),
    _hls("frequency", _MEGAHERTZ, 300.0, "It is the clock in MHz."),
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
        Named(_BANK),
        None,
        'It places arguments in memory banks: {"A": 0, "output_0": "HBM[1]"}.',
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
    _hls("timeout", _SECONDS, 3600.0, "It limits one run of an external tool."),
    _hls(
        "fallback",
        Flag(),
        True,
        "Without the vendor's tool, csyn and cosim use Allo's own Verilog.",
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
        "clock_mhz", _MEGAHERTZ, 200.0, "It is the clock in MHz for which operators are pipelined."
    ),
    _rtl(
        "frequency",
        _MEGAHERTZ,
        None,
        "It is another name for clock_mhz, as the HLS targets call it.",
        none=True,
    ),
    _rtl(
        "device",
        Choice(_DEVICE_FAMILIES),
        "xcup",
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
    _sim(
        "stalls",
        _PROBABILITY,
        0.0,
        "It is the probability with which each channel of each bus stalls in a cycle.",
    ),
    _sim(
        "simulator",
        Choice(_SIMULATORS),
        "verilator",
        "It is the engine: 'verilator' is the reference, 'jit' runs in this process.",
        error=UnsupportedTargetError,
    ),
    _sim("max_cycles", _CYCLES, None, "A run is given up after this many cycles.", none=True),
    _sim(
        "memory",
        Named(_CHANNELS),
        None,
        "It connects arrays, by name, to channels of external memory.",
        none=True,
    ),
    _sim(
        "streams",
        Named(_STREAM),
        None,
        "It describes what is outside of stream ports, by name.",
        none=True,
    ),
    _sim("timeout", _SECONDS, 1800.0, "It limits one run of an external tool."),
    _sim(
        "randomize",
        _SEED,
        None,
        "It is the seed of random initial contents of registers and memories; None means zeros.",
        none=True,
    ),
    # --- calls --------------------------------------------------------------------------
    _call(
        "wave",
        PathName("a .vcd or .fst file"),
        None,
        "The waveform of this run is written to this file.",
        none=True,
    ),
    _call(
        "simulator",
        Choice(_SIMULATORS),
        None,
        "It is the engine for this run.",
        none=True,
        error=UnsupportedTargetError,
    ),
    _call("max_cycles", _CYCLES, None, "This run is given up after this many cycles.", none=True),
    _call("stall_seed", _SEED, 1, "It is the seed of the random stalls."),
    # --- synthesis ----------------------------------------------------------------------
    _synthesis(
        "device",
        Choice(_SYNTHESISED),
        None,
        "It is the device family; None means that of the build.",
        none=True,
    ),
    _synthesis(
        "route", Flag(), False, "The design is placed and routed too, which is possible for ecp5."
    ),
    _synthesis(
        "clock_mhz",
        _MEGAHERTZ,
        None,
        "It is the clock that routing is asked for; None means that of the build.",
        none=True,
    ),
    _synthesis("timeout", _SECONDS, 1800.0, "It limits one run of an external tool."),
    # --- what lies outside a design ------------------------------------------------------
    _channel("name", Text("a name"), "", "Arrays whose channels have one name share it."),
    _channel(
        "bytes_per_cycle", Number(1e-6, 1e6, "bytes"), 0, "It is the bandwidth in bytes a cycle."
    ),
    _channel("latency", Integer(0, 10**6), 0, "The first byte comes after this many cycles."),
    _channel("line_bytes", Integer(1, 1 << 20), 64, "One transfer moves this many bytes."),
    _channel(
        "prefetch",
        Integer(1, 1 << 16),
        None,
        "This many lines are fetched ahead of a reader; None means as many as hide the latency.",
        none=True,
    ),
    _channel(
        "stall", _PROBABILITY, 0.0, "It is the probability that a transfer finds the memory busy."
    ),
    _channel("stall_cycles", Integer(1, 10**6), 8, "It is the longest such stall in cycles."),
    Option("stall", _PROBABILITY, 0.0, "It is the probability of a stall in a cycle.", (STREAM,)),
    Option(
        "channels",
        Items(_ONE_CHANNEL),
        (),
        "The words of the stream come from or go to these channels.",
        (STREAM,),
    ),
    _memory(
        "kind",
        Text("a kind of memory such as 'hbm2'"),
        "hbm2",
        "It names the kind of memory, which gives channels, bandwidth and latency.",
    ),
    _memory("clock_mhz", _MEGAHERTZ, 200.0, "It is the clock of the design in MHz."),
    # --- what kernels name ------------------------------------------------------------------
    _ip(
        "top",
        Text("the name of a C++ function"),
        "",
        "It is the function that kernels call; it returns nothing.",
    ),
    _ip("impl", PathName("a file of C++"), "", "This file defines the function."),
    _ip(
        "include_paths",
        Items(PathName()),
        None,
        "The file's headers are searched in these folders.",
        none=True,
    ),
    _ip(
        "link_hls",
        Flag(),
        True,
        "It is accepted and has no effect; the vendors' open headers are always used.",
    ),
    _binding(
        "resource",
        Text("the name of a resource"),
        "AUTO",
        "It is the resource that holds the array, such as BRAM, URAM or LUTRAM.",
    ),
    _binding(
        "storage_type",
        Text("a storage type"),
        None,
        "It is the kind of memory, such as RAM_2P or ROM_1P.",
        none=True,
    ),
    _binding(
        "latency", Integer(0, 1000), None, "It is the number of cycles of an access.", none=True
    ),
    _binding("depth", Integer(1), None, "It is the number of words.", none=True),
    # --- customize ----------------------------------------------------------------------
    _fn("verbose", Flag(), False, "The core IR is printed once it is built."),
    _fn("enable_tensor", Flag(), False, "It is accepted and has no effect; arrays are memrefs."),
    _fn(
        "lower_linalg",
        Flag(),
        False,
        "It is accepted and has no effect; whole-array operations become loops.",
    ),
    _fn("global_vars", Named(Anything()), None, "It holds the names a kernel may use.", none=True),
    _fn(
        "instantiate",
        Items(Anything("a template argument")),
        None,
        "These are the template arguments in order.",
        none=True,
    ),
    _fn(
        "context",
        Instance("an MLIR context", ("Context",)),
        None,
        "The kernel's module is made in this context.",
        none=True,
    ),
    _fn(
        "typing_rule_set",
        Choice(("default", "cpp-style")),
        "default",
        "It is the set of rules for the types of results.",
    ),
    _fn(
        "unroll",
        Flag(),
        True,
        "False lets the instances of a kernel share one function; True, those of more than 16.",
    ),
    _region(
        "enable_tensor", Flag(), False, "It is accepted and has no effect; arrays are memrefs."
    ),
    _region("opt_default", Flag(), False, "Every innermost loop is pipelined, with rewind."),
    _region(
        "instantiate",
        Items(Anything("a template argument")),
        None,
        "These are the template arguments in order.",
        none=True,
    ),
    _region("global_vars", Named(Anything()), None, "It holds the names it may use.", none=True),
    _region(
        "share",
        Flag(),
        None,
        "True lets the instances of a kernel share one function; None, those of more than 16.",
        none=True,
    ),
    _made("enable_tensor", Flag(), False, "It is accepted and has no effect; arrays are memrefs."),
    _made(
        "warmup",
        Integer(0),
        20,
        "It is accepted and has no effect; it belongs to the published NPU target.",
    ),
    _made(
        "num_iters",
        Integer(1),
        100,
        "It is accepted and has no effect; it belongs to the published NPU target.",
    ),
    _made(
        "trace_size",
        Integer(1),
        4096,
        "It is accepted and has no effect; it belongs to the published NPU target.",
    ),
    _made(
        "device_type",
        Text("a name"),
        None,
        "It is accepted and has no effect; it belongs to the published NPU target.",
        none=True,
    ),
    _made(
        "share",
        Flag(),
        None,
        "True lets the instances of a kernel share one function; None, those of more than 16.",
        none=True,
    ),
)


def options_of(group: str) -> dict[str, Option]:
    """The options a target or a function takes, by name."""
    return {option.name: option for option in TABLE if group in option.groups}
