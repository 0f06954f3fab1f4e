"""The one import of CIRCT, and the two things asked of it: parse and export.

CIRCT's bindings carry their own copy of MLIR; the two copies meet only as text.
The wheel has assertions on, so invalid text may abort Python: :mod:`.circt` imports this in a
process of its own.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

from allo.dialects.processes.bare import bare_package

# pycde itself enters a context for good, in the thread that imports it: when that thread ends, the
# process is aborted. Nothing of ours uses that context.
with bare_package("pycde"):
    import pycde.circt as circt
    from pycde.circt import ir
    from pycde.circt.passmanager import PassManager

__all__ = ["export_verilog", "ir", "parse_hw", "run_hw_passes", "without_classes"]

# The bindings look for a Python module of the dialect whenever they hand out a type, and the wheel
# has none for builtin types: without this one they would search the disk each time.
_BUILTIN = "pycde.circt.dialects.builtin"
sys.modules.setdefault(_BUILTIN, ModuleType(_BUILTIN))

_CLASSES = [f"pycde.circt.dialects.{name}" for name in ("arc", "arith", "comb", "func", "scf")]


@contextmanager
def without_classes() -> Iterator[None]:
    """Hand out operations without the Python classes of their dialects.

    The bindings load those when they first meet a dialect, which takes a tenth of a second.
    """
    absent = [name for name in _CLASSES if name not in sys.modules]
    sys.modules.update((name, ModuleType(name)) for name in absent)
    try:
        yield
    finally:
        for name in absent:
            del sys.modules[name]


# Order matters; see the recipe in the toolchain notes.
VERILOG_PASSES = (
    "hw.module(lower-seq-fifo,lower-seq-hlmem)",
    "lower-seq-firmem",
    "hw.module(lower-seq-shiftreg)",
    "lower-seq-to-sv{disable-reg-randomization}",
    "hw-memory-sim{disable-mem-randomization disable-reg-randomization}",
    "hw.module(lower-verif-to-sv,lower-hw-to-sv)",
    "canonicalize",
    "cse",
    "hw.module(prettify-verilog)",
)
LOWERING_OPTIONS = "disallowLocalVariables,locationInfoStyle=wrapInAtSquareBracket"


def parse_hw(text: str) -> ir.Module:
    """Parse a design in hw, comb and seq in a fresh context of its own."""
    context = ir.Context()
    circt.register_dialects(context)
    with context, ir.Location.unknown():
        return ir.Module.parse(text)


def run_hw_passes(module: ir.Module, passes: tuple[str, ...], *, verify: bool = True) -> None:
    """Run CIRCT passes over a module, in place; ``verify`` checks it after each of them."""
    with module.context:
        manager = PassManager.parse(f"builtin.module({','.join(passes)})")
        manager.enable_verifier(verify)
        manager.run(module.operation)


def export_verilog(text: str) -> str:
    """SystemVerilog of a design given in hw, comb and seq."""
    module = parse_hw(text)
    with module.context:
        module.operation.attributes["circt.loweringOptions"] = ir.StringAttr.get(LOWERING_OPTIONS)
    run_hw_passes(module, VERILOG_PASSES, verify=False)
    module.operation.verify()  # once, where each pass would do it again
    out = io.StringIO()
    with module.context:
        circt.export_verilog(module, out)
    return out.getvalue()
