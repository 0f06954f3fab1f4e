"""Ctrl-C ends what is running at once, and the process goes on."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from .programs import Ended, interrupt

# The signal must be served in a second; a loaded machine is given more.
WITHIN_S = 15.0

ENDLESS = """
def forever(A: int32[4]) -> int32:
    s: int32 = 0
    while s >= 0:
        s = A[0]
    return s

def after(A: int32[4]) -> int32:
    return A[0] + 41

A = np.ones(4, np.int32)
mod = allo.customize(forever).build({options})
other = allo.customize(after).build({options})
other(A), mod(-A)
print("ready")
try:
    mod(A)
except KeyboardInterrupt:
    print("ended")
print(other(A), mod(-A))
"""


@pytest.mark.parametrize("options", ["", "target='vhls'"])
def test_an_endless_loop(options: str, tmp_path: Path) -> None:
    ended = interrupt(tmp_path, ENDLESS.format(options=options), within=WITHIN_S)
    assert (ended.status, ended.lines) == (0, ["ended", "42 -1"]), ended.err


COUNTED = """
def slow(n: int64) -> {kind}:
    s: {kind} = 0
    for i in range(n):
        s += {term}
    return s

mod = allo.customize(slow).build({options})
mod(3)
print("ready")
try:
    mod(10**17)
except KeyboardInterrupt:
    print("ended", mod(4))
"""


@pytest.mark.parametrize(
    ("kind", "term", "options", "value"),
    [
        ("int64", "i * i % 7", "", "7"),
        ("int128", "s // 3 + 1", "", "5"),  # a division of a library
        ("float64", "allo.exp(s * 0.0)", "fast_math=True", "4.0"),
        ("int64", "i * i % 7", "target='verilog', simulator='jit', max_cycles=10**15", "7"),
    ],
)
def test_a_counted_loop_and_one_that_is_mostly_in_libraries(
    kind: str, term: str, options: str, value: str, tmp_path: Path
) -> None:
    body = COUNTED.format(kind=kind, term=term, options=options)
    ended = interrupt(tmp_path, body, within=WITHIN_S)
    assert (ended.status, ended.lines) == (0, [f"ended {value}"]), ended.err


REGION = """
import allo.dataflow as df

@df.region()
def top(A: int32[4], B: int32[4]):
    pipe: Stream[int32, 2]

    @df.kernel(mapping=[1], args=[A])
    def send(a: int32[4]):
        n: int32 = a[0]
        while n != 0:
            pipe.put(n)
            n = a[0] * 3
        pipe.put(0)

    @df.kernel(mapping=[1], args=[B])
    def take(b: int32[4]):
        n: int32 = pipe.get()
        while n != 0:
            b[0] += n
            n = pipe.get()

mod = df.build(top, target={target!r})
B = np.zeros(4, np.int32)
mod(np.zeros(4, np.int32), B)
print("ready")
for attempt in range(2):
    try:
        mod(np.ones(4, np.int32), B)
    except KeyboardInterrupt:
        break
C = np.zeros(4, np.int32)
mod(np.zeros(4, np.int32), C)
print("ended", C.tolist(), B.any().item())
"""


@pytest.mark.parametrize("target", ["simulator", "vhls"])
def test_processes_that_never_end(target: str, tmp_path: Path) -> None:
    """Fibers are left where they stand; the next run starts with processes of its own."""
    ended = interrupt(tmp_path, REGION.format(target=target), within=WITHIN_S)
    assert (ended.status, ended.lines) == (0, ["ended [0, 0, 0, 0] True"]), ended.err


KEPT = """
import signal

def count(A: int32[1], n: int64):
    for i in range(n):
        A[0] = (A[0] * 3 + 1) % 1000

mod = allo.customize(count).build()
A, B = np.ones(1, np.int32), np.ones(1, np.int32)
seen = []
signal.signal(signal.SIGINT, lambda *_: seen.append("noted"))
mod(A, 3)
print("ready")
mod(A, 300_000_000)
signal.signal(signal.SIGINT, signal.SIG_IGN)
mod(B, 3)
mod(B, 300_000_000)
print(seen, A.tolist() == B.tolist())
"""


def test_a_handler_that_does_not_raise_lets_the_call_end_by_itself(tmp_path: Path) -> None:
    ended = interrupt(tmp_path, KEPT, within=120)
    assert (ended.status, ended.lines) == (0, ["['noted'] True"]), ended.err


TOOLS = """
import os
from pathlib import Path

os.environ["ALLO_CACHE_DIR"] = str(Path("cache").absolute())
tools = Path("tools")
tools.mkdir()
(tools / "g++").write_text("#!/bin/sh\\ncase $* in *-dump*|*version*) echo 12;; "
                           "*) sleep 1000 & echo $! >> {pids}; wait;; esac\\n")
(tools / "g++").chmod(0o755)
os.environ["PATH"] = str(tools.absolute()) + ":" + os.environ["PATH"]

def k(A: int32[4]) -> int32:
    return A[0]

A = np.ones(4, np.int32)
mod = allo.customize(k).build({options})
print("ready")
try:
    mod(A)
except KeyboardInterrupt:
    print("ended", sorted(str(p) for p in Path("cache").rglob(".*") if p.is_dir()))
"""


def alive(pids: Path) -> list[str]:
    """Those of the processes that still run, zombies not counted."""
    found = []
    for pid in pids.read_text().split() if pids.exists() else []:
        state = subprocess.run(
            ["ps", "-o", "stat=", "-p", pid], capture_output=True, text=True, check=False
        ).stdout.strip()
        if state and not state.startswith("Z"):
            found.append(pid)
    return found


@pytest.mark.parametrize("options", ["target='vhls'", "target='verilog'"])
def test_a_tool_that_hangs(options: str, tmp_path: Path) -> None:
    """The tool and what it started are gone, and nothing half-written lies in the cache."""
    pids = tmp_path / "pids"
    body = TOOLS.format(options=options, pids=pids)
    ended = interrupt(tmp_path, body, within=WITHIN_S)
    assert (ended.status, ended.lines) == (0, ["ended []"]), ended.err
    assert alive(pids) == []


ENDED = """
import sys
from allo.dialects.processes.tools import run_tool

print("ready", flush=True)
step = "sleep 1000 & echo $! >> {pids}; echo $$ >> {pids}; wait"
run_tool(["sh", "-c", step], None, what="A step", timeout_s=900)
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_no_tool_outlives_a_process_that_is_ended(number: signal.Signals, tmp_path: Path) -> None:
    """What the process cannot catch, or does not, ends the tool and its children too."""
    pids = tmp_path / "pids"
    program = tmp_path / "program.py"
    program.write_text(ENDED.format(pids=pids))
    process = subprocess.Popen([sys.executable, program], stdout=subprocess.DEVNULL)
    wait_for(lambda: pids.exists() and len(pids.read_text().split()) == 2)
    assert len(alive(pids)) == 2
    process.send_signal(number)
    assert process.wait(WITHIN_S) == -number
    wait_for(lambda: not alive(pids))


def wait_for(done: Callable[[], bool]) -> None:
    """Wait until something is so; a machine that is loaded is given time."""
    for _ in range(round(4 * WITHIN_S / 0.02)):
        if done():
            return
        time.sleep(0.02)
    pytest.fail("it was not so in time")


LLVM = """
from allo.dialects._mlir import ir, make_context
from allo.dialects.processes.engine import Engine

lines = ["%1 = llvm.add %0, %0 : i64"]
for i in range(1, {count}):
    lines += [
        f"%{{i + 1}} = llvm.add %{{i}}, %{{i // 2}} : i64",
        f"%x{{i}} = llvm.sdiv %{{i}}, %{{i // 3 + 1}} : i64",
        f"llvm.store %x{{i}}, %p : i64, !llvm.ptr",
    ]
text = "llvm.func @f(%0: i64, %p: !llvm.ptr) -> i64 {{\\n" + "\\n".join(lines)
module = ir.Module.parse(text + "\\nllvm.return %{count} : i64\\n}}", make_context())
print("ready")
try:
    Engine(module, 3)
    print("compiled")
except KeyboardInterrupt:
    print("ended")
"""


def test_machine_code_in_the_making(tmp_path: Path) -> None:
    ended = interrupt(tmp_path, LLVM.format(count=80_000), within=WITHIN_S)
    assert (ended.status, ended.lines) == (0, ["ended"]), ended.err


CIRCT = """
import os
from allo.backend.rtl.circt import _worker, export_verilog, in_circt, start_circt

start_circt()
good = "hw.module @m(in %a: i1, out b: i1) {{ hw.output %a : i1 }}"
export_verilog(good)
pid = _worker()._process.pid
print("ready")
try:
    in_circt("time:sleep", 1000)
except KeyboardInterrupt:
    pass
print("ended", "module m" in export_verilog(good), _worker()._process.pid != pid)
"""


def test_a_request_to_circt(tmp_path: Path) -> None:
    ended = interrupt(tmp_path, CIRCT.format(), within=WITHIN_S)
    assert (ended.status, ended.lines) == (0, ["ended True True"]), ended.err


def test_the_harness_sees_a_program_that_does_not_end(tmp_path: Path) -> None:
    """A program that ignores the signal is not taken for one that served it."""
    body = "import signal, time\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n"
    body += "print('ready')\ntime.sleep(1000)\n"
    with pytest.raises(subprocess.TimeoutExpired):
        interrupt(tmp_path, body, within=1)
    assert isinstance(interrupt(tmp_path, "print('other')\n", within=60), Ended)
