"""The memory channel model as code of the driver.

``allo_touch(ctx, port, route, ways, first, last, now, active, write)`` says when (in ticks) every line
of a word is there for a port that needs it at ``now``, and books the channels. One function
serves memory ports and streams of both engines. A port on channels of dynamic memory has a model of its own
(:mod:`allo.backend.sim.dram.ports`), which is called through its slots.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from allo.dialects._mlir import ir, run_passes

from ..boundary.traffic import TICKS, MemoryChannel, lines_ahead
from .context import ContextLayout
from .wires import Wires

# Slots of a channel in the context, and those of a port by number.
CHANNEL_FIELDS = ("free", "lines", "busy", "ticks", "latency", "threshold", "longest", "random")
(FREE, LINES, BUSY, LINE_TICKS, LATENCY, THRESHOLD, LONGEST, RANDOM) = range(8)
(READY, DEPTH, DRAM_PORT, DRAM_TOUCH, PORT_RING) = range(1, 6)


@dataclass(frozen=True, slots=True)
class Request:
    """One word that a port asks for; SSA names, but for the width.

    Attributes:
        position: its number in the memory region, in words.
        width: bits of a word.
        now: the tick at which it is asked for.
        active: whether it is asked for.
        write: whether it is written.
    """

    position: str
    width: int
    now: str
    active: str
    write: str


_MODEL = f"""
// A number from xorshift64; the state is never 0.
func.func private @allo_random(%state: !llvm.ptr) -> i64 {{
  %c13 = arith.constant 13 : i64
  %c7 = arith.constant 7 : i64
  %c17 = arith.constant 17 : i64
  %x0 = llvm.load %state : !llvm.ptr -> i64
  %a = arith.shli %x0, %c13 : i64
  %x1 = arith.xori %x0, %a : i64
  %b = arith.shrui %x1, %c7 : i64
  %x2 = arith.xori %x1, %b : i64
  %c = arith.shli %x2, %c17 : i64
  %x3 = arith.xori %x2, %c : i64
  llvm.store %x3, %state : i64, !llvm.ptr
  return %x3 : i64
}}

// Whether chance of threshold / 2^32 strikes.
func.func private @allo_strikes(%state: !llvm.ptr, %threshold: i64) -> i1 {{
  %c32 = arith.constant 32 : i64
  %x = func.call @allo_random(%state) : (!llvm.ptr) -> i64
  %high = arith.shrui %x, %c32 : i64
  %hit = arith.cmpi ult, %high, %threshold : i64
  return %hit : i1
}}

// Extra ticks of a random stall of the channel, mostly 0.
func.func private @allo_stall(%channel: !llvm.ptr) -> i64 {{
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %ticks = arith.constant {TICKS} : i64
  %c11 = arith.constant 11 : i64
  %pt = llvm.getelementptr %channel[{THRESHOLD}] : (!llvm.ptr) -> !llvm.ptr, i64
  %threshold = llvm.load %pt : !llvm.ptr -> i64
  %some = arith.cmpi ne, %threshold, %zero : i64
  %extra = scf.if %some -> (i64) {{
    %pr = llvm.getelementptr %channel[{RANDOM}] : (!llvm.ptr) -> !llvm.ptr, i64
    %hit = func.call @allo_strikes(%pr, %threshold) : (!llvm.ptr, i64) -> i1
    %stalled = scf.if %hit -> (i64) {{
      %pl = llvm.getelementptr %channel[{LONGEST}] : (!llvm.ptr) -> !llvm.ptr, i64
      %longest = llvm.load %pl : !llvm.ptr -> i64
      %x = func.call @allo_random(%pr) : (!llvm.ptr) -> i64
      %y = arith.shrui %x, %c11 : i64
      %r = arith.remui %y, %longest : i64
      %n = arith.addi %r, %one : i64
      %t = arith.muli %n, %ticks : i64
      scf.yield %t : i64
    }} else {{
      scf.yield %zero : i64
    }}
    scf.yield %stalled : i64
  }} else {{
    scf.yield %zero : i64
  }}
  return %extra : i64
}}

func.func @allo_touch(%ctx: !llvm.ptr, %port: i64, %route: i64, %ways: i64, %first: i64, %last: i64,
                      %now: i64, %active: i1, %write: i1) -> i64 {{
  %result = scf.if %active -> (i64) {{
    %p = llvm.getelementptr %ctx[%port] : (!llvm.ptr, i64) -> !llvm.ptr, i8
    %one = arith.constant 1 : i64
    %p_ready = llvm.getelementptr %p[{READY}] : (!llvm.ptr) -> !llvm.ptr, i64
    %behind = arith.addi %last, %one : i64
    %nothing = arith.constant 0 : i64
    %p_dram = llvm.getelementptr %p[{DRAM_PORT}] : (!llvm.ptr) -> !llvm.ptr, i64
    %object = llvm.load %p_dram : !llvm.ptr -> i64
    %is_dram = arith.cmpi ne, %object, %nothing : i64
    %answer = scf.if %is_dram -> (i64) {{
      %p_call = llvm.getelementptr %p[{DRAM_TOUCH}] : (!llvm.ptr) -> !llvm.ptr, i64
      %call = llvm.load %p_call : !llvm.ptr -> !llvm.ptr
      %kind = arith.extui %write : i1 to i64
      %told = llvm.call %call(%object, %first, %last, %now, %kind)
        : !llvm.ptr, (i64, i64, i64, i64, i64) -> i64
      scf.yield %told : i64
    }} else {{
      %next = llvm.load %p : !llvm.ptr -> i64
      // A port that waits asks again: the word's last line is the one it had.
      %same = arith.cmpi eq, %behind, %next : i64
      %when = scf.if %same -> (i64) {{
        %known = llvm.load %p_ready : !llvm.ptr -> i64
        scf.yield %known : i64
      }} else {{
        %lo = arith.index_cast %first : i64 to index
        %hi = arith.index_cast %behind : i64 to index
        %st = arith.index_cast %one : i64 to index
        %none = arith.constant 0 : i64
        %all = scf.for %k = %lo to %hi step %st iter_args(%so_far = %none) -> (i64) {{
          %line = arith.index_cast %k : index to i64
          %there = func.call @allo_touch_line(%ctx, %p, %route, %ways, %line, %now, %write)
            : (!llvm.ptr, !llvm.ptr, i64, i64, i64, i64, i1) -> i64
          %later = arith.maxui %so_far, %there : i64
          scf.yield %later : i64
        }}
        llvm.store %all, %p_ready : i64, !llvm.ptr
        scf.yield %all : i64
      }}
      scf.yield %when : i64
    }}
    scf.yield %answer : i64
  }} else {{
    scf.yield %now : i64
  }}
  return %result : i64
}}

func.func private @allo_touch_line(%ctx: !llvm.ptr, %p: !llvm.ptr, %route: i64, %ways: i64,
                                   %line: i64, %now: i64, %write: i1) -> i64 {{
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %following = arith.addi %line, %one : i64
  %last = llvm.load %p : !llvm.ptr -> i64
  %p_ready = llvm.getelementptr %p[{READY}] : (!llvm.ptr) -> !llvm.ptr, i64
  %same = arith.cmpi eq, %following, %last : i64
  %when = scf.if %same -> (i64) {{
    %known = llvm.load %p_ready : !llvm.ptr -> i64
    scf.yield %known : i64
  }} else {{
    %p_depth = llvm.getelementptr %p[{DEPTH}] : (!llvm.ptr) -> !llvm.ptr, i64
    %depth = llvm.load %p_depth : !llvm.ptr -> i64
    %ring = llvm.getelementptr %p[{PORT_RING}] : (!llvm.ptr) -> !llvm.ptr, i64
    // A sequential reader asked for this line when it came to the one `depth` lines before.
    %sequential = arith.cmpi eq, %line, %last : i64
    scf.if %sequential {{
    }} else {{
      %lo = arith.index_cast %zero : i64 to index
      %hi = arith.index_cast %depth : i64 to index
      %st = arith.index_cast %one : i64 to index
      scf.for %k = %lo to %hi step %st {{
        %k64 = arith.index_cast %k : index to i64
        %q = llvm.getelementptr %ring[%k64] : (!llvm.ptr, i64) -> !llvm.ptr, i64
        llvm.store %now, %q : i64, !llvm.ptr
      }}
    }}
    %at = arith.remui %line, %depth : i64
    %p_asked = llvm.getelementptr %ring[%at] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    %asked = llvm.load %p_asked : !llvm.ptr -> i64
    llvm.store %now, %p_asked : i64, !llvm.ptr

    %way = arith.remui %line, %ways : i64
    %r0 = llvm.getelementptr %ctx[%route] : (!llvm.ptr, i64) -> !llvm.ptr, i8
    %p_route = llvm.getelementptr %r0[%way] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    %offset = llvm.load %p_route : !llvm.ptr -> i64
    %channel = llvm.getelementptr %ctx[%offset] : (!llvm.ptr, i64) -> !llvm.ptr, i8
    %p_lines = llvm.getelementptr %channel[{LINES}] : (!llvm.ptr) -> !llvm.ptr, i64
    %p_busy = llvm.getelementptr %channel[{BUSY}] : (!llvm.ptr) -> !llvm.ptr, i64
    %p_ticks = llvm.getelementptr %channel[{LINE_TICKS}] : (!llvm.ptr) -> !llvm.ptr, i64
    %p_latency = llvm.getelementptr %channel[{LATENCY}] : (!llvm.ptr) -> !llvm.ptr, i64
    %latency = llvm.load %p_latency : !llvm.ptr -> i64
    %ticks = llvm.load %p_ticks : !llvm.ptr -> i64
    %free = llvm.load %channel : !llvm.ptr -> i64

    %arrives = arith.addi %asked, %latency : i64
    %earliest = arith.select %write, %now, %arrives : i64
    %begin = arith.maxui %free, %earliest : i64
    %extra = func.call @allo_stall(%channel) : (!llvm.ptr) -> i64
    %moved = arith.addi %begin, %ticks : i64
    %end = arith.addi %moved, %extra : i64
    llvm.store %end, %channel : i64, !llvm.ptr
    %lines = llvm.load %p_lines : !llvm.ptr -> i64
    %lines1 = arith.addi %lines, %one : i64
    llvm.store %lines1, %p_lines : i64, !llvm.ptr
    %busy = llvm.load %p_busy : !llvm.ptr -> i64
    %busy1 = arith.addi %busy, %ticks : i64
    llvm.store %busy1, %p_busy : i64, !llvm.ptr

    // A writer waits only when it is `depth` lines ahead of the channel.
    %slack0 = arith.muli %ticks, %depth : i64
    %slack = arith.select %write, %slack0, %zero : i64
    %enough = arith.cmpi ugt, %end, %slack : i64
    %early = arith.subi %end, %slack : i64
    %there = arith.select %enough, %early, %zero : i64
    llvm.store %following, %p : i64, !llvm.ptr
    llvm.store %there, %p_ready : i64, !llvm.ptr
    scf.yield %there : i64
  }}
  return %when : i64
}}
"""

_LOWER = (
    "builtin.module(convert-scf-to-cf,convert-cf-to-llvm,convert-arith-to-llvm,"
    "convert-func-to-llvm,reconcile-unrealized-casts,canonicalize,cse)"
)


@cache
def channel_functions() -> str:
    """The model's functions in the llvm dialect."""
    with ir.Context(), ir.Location.unknown():
        module = ir.Module.parse(_MODEL)
        run_passes(module, _LOWER)
        text = str(module)
    return text[text.index("{", text.index("module")) + 1 : text.rindex("}")]


def touch(w: Wires, name: str, channels: tuple[MemoryChannel, ...], request: Request) -> str:
    """Call the model for one word; gives the tick at which all of its lines are there.

    Args:
        name: the port or stream, as :func:`add_port` knows it.
        channels: where its lines lie, in turn.
    """
    f = w.f
    line_bits = f.constant(8 * channels[0].line_bytes, 64)
    start = f.binary("mul", request.position, f.constant(request.width, 64), 64)
    end = f.binary("add", start, f.constant(request.width - 1, 64), 64)
    return f.call(
        "allo_touch",
        [
            ("%ctx", "!llvm.ptr"),
            (f.constant(w.field_offset(f"port {name}"), 64), "i64"),
            (f.constant(w.field_offset(f"route {name}"), 64), "i64"),
            (f.constant(len(channels), 64), "i64"),
            (f.binary("udiv", start, line_bits, 64), "i64"),
            (f.binary("udiv", end, line_bits, 64), "i64"),
            (request.now, "i64"),
            (request.active, "i1"),
            (request.write, "i1"),
        ],
        "i64",
    )


def add_channel(layout: ContextLayout, channel: MemoryChannel) -> int:
    """Reserve a channel's slots; gives their byte offset."""
    return layout.add(f"channel {channel.name}", len(CHANNEL_FIELDS))


def add_port(layout: ContextLayout, name: str, channels: tuple[MemoryChannel, ...]) -> None:
    """Reserve the slots of a port or stream that uses ``channels``."""
    layout.add(f"port {name}", PORT_RING + lines_ahead(channels))
    layout.add(f"route {name}", len(channels))


def initial_channel(channel: MemoryChannel, seed: int) -> list[int]:
    """The slots of an idle channel."""
    return [
        0,
        0,
        0,
        channel.line_ticks,
        channel.latency * TICKS,
        round(channel.stall * (1 << 32)),
        channel.stall_cycles,
        random_state(channel.name, seed),
    ]


def random_state(name: str, seed: int) -> int:
    """A non-zero start of a random sequence, of its own for each name and seed."""
    state = (seed * 0x9E3779B97F4A7C15 + 1) & ((1 << 64) - 1)
    for byte in name.encode():
        state = ((state ^ byte) * 0x100000001B3) & ((1 << 64) - 1)
    return state | 1
