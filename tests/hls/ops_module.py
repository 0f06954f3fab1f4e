"""Core IR that applies every scalar operation to arrays, one function a type."""

from __future__ import annotations

from dataclasses import dataclass, field

BINARY = "addi subi muli andi ori xori shli shrsi shrui divsi divui remsi remui".split()
BINARY += "floordivsi ceildivsi ceildivui minsi minui maxsi maxui".split()
PREDICATES = "eq ne slt sle sgt sge ult ule ugt uge".split()
FLOAT_BINARY = "addf subf mulf divf remf minimumf maximumf maxnumf minnumf".split()
FLOAT_PREDICATES = "oeq ogt oge olt ole one ord ueq ugt uge ult ule une uno".split()


@dataclass
class Builder:
    """A top function over arrays of ``count`` elements, each statement in one loop."""

    count: int
    arguments: list[tuple[str, str]] = field(default_factory=list)
    body: list[str] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)

    def input(self, name: str, declared: str) -> str:
        self.arguments.append((name, declared))
        kind = storage(declared)
        self.body.append(f"%{name}_v = affine.load %{name}[%i] : memref<{self.count}x{kind}>")
        return f"%{name}_v"

    def output(self, name: str, declared: str, value: str) -> None:
        self.arguments.append((name, declared))
        self.outputs.append(name)
        kind = storage(declared)
        self.body.append(f"affine.store {value}, %{name}[%i] : memref<{self.count}x{kind}>")

    def let(self, name: str, expression: str) -> str:
        self.body.append(f"%{name} = {expression}")
        return f"%{name}"

    def text(self, function: str) -> str:
        params = ", ".join(f"%{n}: memref<{self.count}x{storage(t)}>" for n, t in self.arguments)
        names = ", ".join(f'"{n}"' for n, _ in self.arguments)
        types = ", ".join(f'"{t}"' for _, t in self.arguments)
        letters = "".join("u" if t.startswith("u") else "s" for _, t in self.arguments)
        lines = "\n      ".join(self.body)
        return f"""
  func.func @{function}({params}) attributes {{arg_names = [{names}], arg_types = [{types}],
      itypes = "{letters}", otypes = "", res_types = []}} {{
    affine.for %i = 0 to {self.count} {{
      {lines}
    }} {{loop_name = "i", op_name = "S_i_0"}}
    return
  }}"""


def storage(declared: str) -> str:
    return declared.lstrip("u") if declared.startswith("ui") else declared


def integer_ops(bits: int, count: int, *, signed: bool) -> Builder:
    """All integer operations on two inputs of one width."""
    kind, own = f"i{bits}", f"{'' if signed else 'u'}i{bits}"
    b = Builder(count)
    x, y = b.input("x", own), b.input("y", own)
    for op in BINARY:
        b.output(f"o_{op}", own, b.let(op, f"arith.{op} {x}, {y} : {kind}"))
    constant = b.let("c", f"arith.constant {3 % (1 << bits) if bits > 2 else 1} : {kind}")
    amount = b.let("d", f"arith.constant {bits - 1} : {kind}") if bits > 2 else constant
    for op in BINARY:
        other = amount if op.startswith("sh") else constant
        b.output(f"k_{op}", own, b.let(f"k{op}", f"arith.{op} {x}, {other} : {kind}"))
    b.output("l_subi", own, b.let("lsubi", f"arith.subi {constant}, {x} : {kind}"))
    for p in PREDICATES:
        flag = b.let(f"p_{p}", f"arith.cmpi {p}, {x}, {y} : {kind}")
        b.output(f"o_{p}", "ui1", flag)
    b.output("o_sel", own, b.let("sel", f"arith.select %p_slt, {x}, {constant} : {kind}"))
    for op in ("ctpop", "ctlz", "cttz", "absi"):
        b.output(f"o_{op}", own, b.let(op, f"math.{op} {x} : {kind}"))
    for wide in {bits + 1, bits + 31, 64} - {0}:
        if wide > bits:
            b.output(
                f"sx{wide}", f"i{wide}", b.let(f"s{wide}", f"arith.extsi {x} : {kind} to i{wide}")
            )
            b.output(
                f"zx{wide}", f"ui{wide}", b.let(f"z{wide}", f"arith.extui {x} : {kind} to i{wide}")
            )
    for narrow in {1, bits // 2, bits - 1, 8, 32}:
        if 0 < narrow < bits:
            b.output(
                f"t{narrow}",
                f"i{narrow}",
                b.let(f"n{narrow}", f"arith.trunci {x} : {kind} to i{narrow}"),
            )
    for f in ("f16", "bf16", "f32", "f64"):
        b.output(f"si_{f}", f, b.let(f"si{f}", f"arith.sitofp {x} : {kind} to {f}"))
        b.output(f"ui_{f}", f, b.let(f"ui{f}", f"arith.uitofp {x} : {kind} to {f}"))
    return b


def float_ops(kind: str, count: int, widths: tuple[int, ...]) -> Builder:
    """All float operations on two inputs of one format."""
    bits = {"f16": 16, "bf16": 16, "f32": 32, "f64": 64}[kind]
    b = Builder(count)
    x, y = b.input("x", kind), b.input("y", kind)
    for op in FLOAT_BINARY:
        b.output(f"o_{op}", kind, b.let(op, f"arith.{op} {x}, {y} : {kind}"))
    constant = b.let("c", f"arith.constant -2.5 : {kind}")
    b.output("k_mulf", kind, b.let("kmulf", f"arith.mulf {x}, {constant} : {kind}"))
    b.output("o_negf", kind, b.let("negf", f"arith.negf {x} : {kind}"))
    for op in ("absf", "sqrt", "floor", "ceil", "trunc", "roundeven", "round"):
        b.output(f"o_{op}", kind, b.let(op, f"math.{op} {x} : {kind}"))
    for p in FLOAT_PREDICATES:
        b.output(f"o_{p}", "ui1", b.let(f"p_{p}", f"arith.cmpf {p}, {x}, {y} : {kind}"))
    b.output("o_sel", kind, b.let("sel", f"arith.select %p_olt, {x}, {constant} : {kind}"))
    raw = b.let("raw", f"arith.bitcast {x} : {kind} to i{bits}")
    one = b.let("one", f"arith.constant 1 : i{bits}")
    flipped = b.let("flipped", f"arith.xori {raw}, {one} : i{bits}")
    b.output("o_bits", f"ui{bits}", raw)
    b.output("o_cast", kind, b.let("cast", f"arith.bitcast {flipped} : i{bits} to {kind}"))
    for width in widths:
        b.output(
            f"fs{width}", f"i{width}", b.let(f"s{width}", f"arith.fptosi {x} : {kind} to i{width}")
        )
        b.output(
            f"fu{width}", f"ui{width}", b.let(f"u{width}", f"arith.fptoui {x} : {kind} to i{width}")
        )
    sizes = {"f16": 16, "bf16": 16, "f32": 32, "f64": 64}
    for other, size in sizes.items():
        if size != bits:
            op = "extf" if size > bits else "truncf"
            b.output(
                f"to_{other}", other, b.let(f"to{other}", f"arith.{op} {x} : {kind} to {other}")
            )
    return b


def module_text(groups: dict[str, Builder]) -> tuple[str, list[tuple[str, str]]]:
    """One module whose top calls every group; the top's arguments."""
    functions = [group.text(name) for name, group in groups.items()]
    arguments, calls = [], []
    for name, group in groups.items():
        own = [(f"{name}_{n}", t) for n, t in group.arguments]
        arguments += own
        kinds = ", ".join(f"memref<{group.count}x{storage(t)}>" for _, t in own)
        calls.append(f"call @{name}({', '.join(f'%{n}' for n, _ in own)}) : ({kinds}) -> ()")
    top = Builder(next(iter(groups.values())).count)
    top.arguments = arguments
    text = top.text("top")
    head, _, _ = text.partition("    affine.for")
    body = "\n    ".join(calls)
    return "module {" + "".join(functions) + f"{head}    {body}\n    return\n  }}\n}}", arguments
