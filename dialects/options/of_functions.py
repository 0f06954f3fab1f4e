"""The options of everything beside ``build``: calls, synthesis, memories and streams, ``customize``."""

from __future__ import annotations

from ..diagnostics import UnsupportedTargetError
from .common import CYCLES, MEGAHERTZ, ONE_CHANNEL, PROBABILITY, SECONDS, SEED, SIMULATORS
from .groups import (
    BINDING,
    BITSTREAM,
    CHANNEL,
    CUSTOMIZE,
    DF_BUILD,
    DF_CUSTOMIZE,
    IP_MODULE,
    MEMORY,
    RTL_CALL,
    STREAM,
    SYNTHESIS,
)
from .kinds import (
    Anything,
    Choice,
    Flag,
    Instance,
    Integer,
    Items,
    Listed,
    Named,
    Number,
    PathName,
    Text,
)
from .option import Option
from .rows import rows

_made = rows(DF_BUILD)
_fn = rows(CUSTOMIZE)
_region = rows(DF_CUSTOMIZE)
_call = rows(RTL_CALL)
_synthesis = rows(SYNTHESIS)
_bitstream = rows(BITSTREAM)
_channel = rows(CHANNEL)
_memory = rows(MEMORY)
_ip = rows(IP_MODULE)
_binding = rows(BINDING)

FUNCTION_OPTIONS: tuple[Option, ...] = (
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
        Choice(SIMULATORS),
        None,
        "It is the engine for this run.",
        none=True,
        error=UnsupportedTargetError,
    ),
    _call("max_cycles", CYCLES, None, "This run is given up after this many cycles.", none=True),
    _call("stall_seed", SEED, 1, "It is the seed of the random stalls."),
    # --- synthesis ----------------------------------------------------------------------
    _synthesis(
        "device",
        Listed("allo.backend.devices:synthesised"),
        None,
        "It is the device family; None means that of the build.",
        none=True,
    ),
    _synthesis(
        "route",
        Flag(),
        False,
        "The design is placed and routed too, where nextpnr knows the family.",
    ),
    _synthesis(
        "clock_mhz",
        MEGAHERTZ,
        None,
        "It is the clock that routing is asked for; None means that of the build.",
        none=True,
    ),
    _synthesis(
        "seed",
        SEED,
        None,
        "It is the seed of nextpnr's random numbers; None means nextpnr's own.",
        none=True,
    ),
    _synthesis(
        "router",
        Listed("allo.backend.devices:routers"),
        "auto",
        "It is the router of nextpnr: router1 reaches faster clocks, and router2 ends on crowded designs; "
        "auto takes router2 above 10,000 lookup tables.",
    ),
    _synthesis("timeout", SECONDS, 1800.0, "It limits one run of an external tool."),
    # --- bitstreams -----------------------------------------------------------------------
    _bitstream(
        "clock_mhz",
        MEGAHERTZ,
        None,
        "It is the clock on the board; None means the fastest that the routed design reaches with a reserve.",
        none=True,
    ),
    _bitstream(
        "seed",
        SEED,
        None,
        "It is the first seed of nextpnr's random numbers; None means nextpnr's own.",
        none=True,
    ),
    _bitstream(
        "seeds", Integer(1, 64), 1, "So many seeds are tried, and the fastest result is taken."
    ),
    _bitstream("timeout", SECONDS, 1800.0, "It limits one run of an external tool."),
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
        "stall", PROBABILITY, 0.0, "It is the probability that a transfer finds the memory busy."
    ),
    _channel("stall_cycles", Integer(1, 10**6), 8, "It is the longest such stall in cycles."),
    _channel(
        "timing",
        Choice(("ideal", "dram")),
        "ideal",
        "An ideal channel has a bandwidth and a latency; with 'dram', it has banks, rows and refresh.",
    ),
    _channel(
        "device",
        Text("a kind of memory such as 'hbm2'"),
        None,
        "It names the dynamic memory, which timing='dram' needs.",
        none=True,
    ),
    _channel(
        "clock_mhz",
        MEGAHERTZ,
        None,
        "It is the clock of the design in MHz, which timing='dram' needs.",
        none=True,
    ),
    _channel(
        "number",
        Integer(0, 255),
        None,
        "It is the number of the channel in its device, whose switch joins the channels.",
        none=True,
    ),
    _channel(
        "switch",
        Choice(("auto", "on", "off")),
        "auto",
        "The switch between HBM2's channels is on where a master needs it; 'on' is always, 'off' refuses.",
    ),
    Option("stall", PROBABILITY, 0.0, "It is the probability of a stall in a cycle.", (STREAM,)),
    Option(
        "channels",
        Items(ONE_CHANNEL),
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
    _memory("clock_mhz", MEGAHERTZ, 200.0, "It is the clock of the design in MHz."),
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
