"""The planted faults: rules of the compiler that can be switched off, one at a time."""

from __future__ import annotations

from . import Fault
from .calls import CALLS
from .memory import MEMORY
from .names import NAMES
from .overlap import OVERLAP
from .searched import SEARCHED
from .stepped import STEPPED

_CPU = ("cpu",)
_RTL = ("jit",)
_CSIM = ("csim",)
_VERILATOR = ("verilator",)

_FRONTEND = [
    Fault(
        "sign_extension",
        "frontend",
        "allo.frontend.emit.spellings",
        'return [("arith.extsi" if signed else "arith.extui", target)]',
        'return [("arith.extui", target)]',
        "a signed integer keeps its value in a wider type",
        _CPU,
    ),
    Fault(
        "zero_extension",
        "frontend",
        "allo.frontend.emit.spellings",
        'return [("arith.extsi" if signed else "arith.extui", target)]',
        'return [("arith.extsi", target)]',
        "an unsigned integer keeps its value in a wider type",
        _CPU,
    ),
    Fault(
        "unsigned_to_float",
        "frontend",
        "allo.frontend.emit.spellings",
        'return [("arith.sitofp" if signed else "arith.uitofp", target)]',
        'return [("arith.sitofp", target)]',
        "an unsigned integer becomes a float by its value",
        _CPU,
    ),
    Fault(
        "floor_division",
        "frontend",
        "allo.frontend.emit.spellings",
        '"//": "arith.floordivsi",',
        '"//": "arith.divsi",',
        "// rounds down",
        _CPU,
    ),
    Fault(
        "unsigned_order",
        "frontend",
        "allo.frontend.emit.spellings",
        "order = _SIGNED_ORDER if is_signed(dtype) and dtype.bits > 1 else _UNSIGNED_ORDER",
        "order = _SIGNED_ORDER",
        "unsigned integers are compared as such",
        _CPU,
    ),
    Fault(
        "arithmetic_shift",
        "frontend",
        "allo.frontend.emit.spellings",
        '">>": "arith.shrsi",',
        '">>": "arith.shrui",',
        "a signed integer keeps its sign when shifted right",
        _CPU,
    ),
    Fault(
        "last_step_down",
        "frontend",
        "allo.frontend.elaborate.statements.loops",
        "constant(-step - 1)",
        "constant(0)",
        "a loop that counts down runs its last iteration",
        _CPU,
    ),
    Fault(
        "leaving_loops",
        "frontend",
        "allo.frontend.elaborate.statements.branches",
        "ctx.emit(Store(place, flag, (), Const(ops.BOOL, place, 1)))",
        "ctx.emit(Store(place, flag, (), Const(ops.BOOL, place, 0)))",
        "break and continue leave the loop's body",
        _CPU,
    ),
    Fault(
        "overlapping_slices",
        "frontend",
        "allo.frontend.elaborate.arrays.stores",
        "if any(v.var is target.var and v.selectors != target.selectors for v in value.leaves()):",
        "if False:",
        "the right side of a slice assignment is read before anything is written",
        _CPU,
    ),
    Fault(
        "bit_store_mask",
        "frontend",
        "allo.frontend.rules.bit_fields",
        'kept = Binary(dtype, place, "&", raw, keep)',
        "kept = raw",
        "storing bits clears those that were there",
        _CPU,
    ),
]

_SCHEDULE = [
    Fault(
        "order_of_dependences",
        "schedule",
        "allo.schedule.analysis.legality",
        "if violation is not None:",
        "if violation is not None and not what:",
        "a primitive may not break a dependence",
        _CPU,
    ),
    Fault(
        "rounded_sums",
        "schedule",
        "allo.schedule.analysis.legality",
        "if found.order is Order.ROUNDED and not _declared(statement, changed):",
        "if False:",
        "a float sum keeps its order unless allo.reduction allows another",
        _CPU,
        "windows",
    ),
    Fault(
        "split_remainder",
        "schedule",
        "allo.schedule.primitives.loops.split",
        "if extent % factor == 0:",
        "if extent:",
        "split by what does not divide leaves the last tile short",
        _CPU,
    ),
    Fault(
        "fused_index",
        "schedule",
        "allo.schedule.primitives.loops.fuse",
        "if op != chain[0]:",
        "if op not in chain:",
        "the inner index of fused loops starts again in each outer iteration",
        _CPU,
    ),
    Fault(
        "window_guard",
        "schedule",
        "allo.schedule.primitives.arrays.reuse_at",
        "[linear_map([(iv, 1)], -bounds[0] - fill)]",
        "[linear_map([(iv, 1)], -bounds[0] - fill + 1)]",
        "reuse_at keeps the body waiting until the window is full",
        _CPU,
    ),
    Fault(
        "window_shift",
        "schedule",
        "allo.schedule.primitives.arrays.reuse_at",
        "for number in range(window.size - step):",
        "for number in range(1, window.size - step):",
        "reuse_at moves every row of the window up",
        _CPU,
    ),
    Fault(
        "buffer_initial",
        "schedule",
        "allo.schedule.primitives.arrays.buffer_at",
        'copy_nest(loop, buffer, row, name, parts, dims, "init", constant, location, start)',
        "pass",
        "a buffer of buffer_at starts with the values of the array",
        _CPU,
    ),
    Fault(
        "merged_producer",
        "schedule",
        "allo.schedule.primitives.loops.compute_at",
        "_check_dependences(s, second, source_chain, target_chain, what)",
        "pass",
        "compute_at computes an element before it is read",
        _CPU,
    ),
]

_PASSES = [
    Fault(
        "division_by_zero",
        "passes",
        "allo.dialects.passes.define_arith",
        "return _select(_is(b, 0), _constant(a, -1), quotient)",
        "return quotient",
        "a quotient by zero has every bit one (CPU)",
        _CPU,
    ),
    Fault(
        "shift_by_width",
        "passes",
        "allo.dialects.passes.define_arith",
        "inside = _compare(arith.CmpIPredicate.ult, amount, _constant(amount, _bits(a)))",
        "inside = _is_true()",
        "a shift by the width or more gives zero (CPU)",
        _CPU,
    ),
    Fault(
        "saturating_conversion",
        "passes",
        "allo.dialects.passes.define_arith",
        "clamped = _select(above, _constant(result, highest), raw)",
        "clamped = raw",
        "a float out of range becomes the nearest integer (CPU)",
        _CPU,
    ),
]

_BOUNDARY = [
    Fault(
        "sign_at_the_boundary",
        "boundary",
        "allo.dialects.boundary.storage",
        "return (wide.view(np.int64) << shift) >> shift",
        "return wide.view(np.int64)",
        "negative integers of odd widths come back negative",
        _CPU,
    ),
    Fault(
        "banks_at_the_boundary",
        "boundary",
        "allo.dialects.core.partition",
        "return position % self.banks, position // self.banks",
        "return position // self.depth, position % self.depth",
        "elements of a cyclic partition lie in the banks where the hardware looks",
        _RTL,
    ),
]

_SCHEDULING = [
    Fault(
        "distance_off_by_one",
        "rtl scheduling",
        "allo.backend.rtl.plan.orders.dependence",
        "distance = value * (self._strides if value > 0 else self._backward)[level] + rest",
        "distance = 1 + value * self._strides[level] + rest",
        "iterations that depend on each other start far enough apart",
        _RTL,
    ),
    Fault(
        "write_after_read",
        "rtl scheduling",
        "allo.backend.rtl.plan.orders.order",
        "rest = (1 << target) - 1 if is_store else self._stores & ((1 << target) - 1)",
        "rest = self._stores & ((1 << target) - 1)",
        "a store waits for an earlier load of its element",
        _RTL,
    ),
    Fault(
        "store_latency",
        "rtl scheduling",
        "allo.backend.rtl.plan.orders.order",
        "latency = 1 if after_store and not short else 0",
        "latency = 0",
        "a load waits until the store before it is done",
        _RTL,
    ),
    Fault(
        "memory_ports",
        "rtl scheduling",
        "allo.backend.rtl.plan.modulo",
        "return [(kind, number, bank) for bank in access.banks() for kind in kinds]",
        "return []",
        "a memory has so many ports",
        _RTL,
    ),
    Fault(
        "missing_forward",
        "rtl scheduling",
        "allo.backend.rtl.read.accesses",
        "known.groups = {signature: kept} if kept else {}",
        "del kept",
        "a store makes values read before it, at other subscripts, unknown",
        _RTL,
    ),
    Fault(
        "else_branch",
        "rtl scheduling",
        "allo.backend.rtl.read.elaborate",
        "with self.builder.under(opposite, inverse):",
        "with self.builder.under(condition, guard):",
        "the else branch runs where the condition does not hold",
        _RTL,
    ),
]

_ARITHMETIC = [
    Fault(
        "hardware_floor",
        "rtl arithmetic",
        "allo.backend.rtl.operators.families.divide",
        "value = value - (differ & remainder.any()).zext(width)",
        "value = value - (sign_a & remainder.any()).zext(width)",
        "// rounds down in hardware",
        _RTL,
    ),
    Fault(
        "remainder_by_power",
        "rtl arithmetic",
        "allo.backend.rtl.operators.families.divide",
        "return cat((negative & some).repeat(width - shift), low)",
        "return low.zext(width)",
        "a remainder by a power of two has the sign of the dividend",
        _RTL,
    ),
    Fault(
        "hardware_comparison",
        "rtl arithmetic",
        "allo.backend.rtl.operators.families.compare",
        "return ~less(b, a)",
        "return less(a, b)",
        "<= holds for equal numbers in hardware",
        _RTL,
    ),
    Fault(
        "hardware_sign",
        "rtl arithmetic",
        "allo.backend.rtl.emit.context",
        'return self.text.extend(operand, source, node.width, signed=how == "sext")',
        "return self.text.extend(operand, source, node.width, signed=False)",
        "a signed integer keeps its value in wider hardware",
        _RTL,
    ),
    Fault(
        "float_sticky_bit",
        "rtl arithmetic",
        "allo.backend.rtl.float.add",
        "normal.bits(0, 3).any(),",
        "normal.net.const(0, 1),",
        "a float sum is rounded by all of its bits",
        _VERILATOR,
        "products",
    ),
]

_STREAMS = [
    Fault(
        "fifo_depth",
        "rtl streams",
        "allo.backend.rtl.emit.fifo",
        "last, last_place = self.holds(1), self.holds(self.depth - 1)",
        "last, last_place = self.holds(1), self.holds(self.depth - 2)",
        "a FIFO holds as many words as it is deep",
        _RTL,
    ),
    Fault(
        "fifo_pointer",
        "rtl streams",
        "allo.backend.rtl.emit.fifo",
        "if depth != 1 << bits:",
        "if depth < 0:",
        "a FIFO's pointers start again behind its last word",
        _RTL,
    ),
]

_CPP = [
    Fault(
        "csim_division_by_zero",
        "csim",
        "allo.backend.hls.emit.helpers",
        "if (b == T(0)) return T(-1);",
        "if (b == T(0)) return T(0);",
        "a quotient by zero has every bit one (csim)",
        _CSIM,
    ),
    Fault(
        "csim_floor",
        "csim",
        "allo.backend.hls.emit.helpers",
        "return (a % b != 0 && (a < T(0)) != (b < T(0))) ? T(q - 1) : q;",
        "return q;",
        "// rounds down (csim)",
        _CSIM,
    ),
    Fault(
        "csim_signs",
        "csim",
        "allo.backend.hls.emit.operations.integer",
        "signed = joint_sign(a, b) if predicate < 2 else predicate < 6",
        "signed = True",
        "unsigned integers are compared as such (csim)",
        _CSIM,
    ),
    Fault(
        "csim_extension",
        "csim",
        "allo.backend.hls.emit.operations.integer",
        "source = a.ctype.with_sign(signed)",
        "source = a.ctype.with_sign(True)",
        "an unsigned integer keeps its value in a wider type (csim)",
        _CSIM,
    ),
]

FAULTS: tuple[Fault, ...] = (
    *_FRONTEND,
    *CALLS,
    *_SCHEDULE,
    *_PASSES,
    *_BOUNDARY,
    *_SCHEDULING,
    *OVERLAP,
    *STEPPED,
    *MEMORY,
    *SEARCHED,
    *_ARITHMETIC,
    *NAMES,
    *_STREAMS,
    *_CPP,
)
"""In the order of the compiler's parts."""
