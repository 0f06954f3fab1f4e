"""Kernels of whole-array operations."""

from __future__ import annotations

from .expressions import element_type
from .program import Program
from .types import MAX_BITS, Ty, random_float, result
from .writer import Array, Writer, annotation, argument_of


def tensor_kernel(w: Writer, seed: int) -> Program:
    """Element-wise expressions with broadcasting, products, transposes, copies, slices."""
    n, m, k = (w.rng.randint(2, 5) for _ in range(3))
    w.use("tensors")
    ty = _type(w)
    arrays = [
        Array("A", ty, (n, m)),
        Array("B", ty if w.chance(0.5) else _type(w), (m, k)),
        Array("V", _type(w), (m,)),
        Array("D", _type(w), (n, m)),
    ]
    with w.function() as lines:
        w.scope.arrays += arrays
        for _ in range(w.rng.randint(1, 4)):
            _statement(w, n, m, k)
        _observe(w, n, m)
        body = list(lines)
    shown = ", ".join(f"{a.name}: {annotation(a.ty, a.shape)}" for a in arrays)
    w.functions.append("\n".join([f"def kernel({shown}):", *(body or ["    pass"])]))
    return Program(seed, w.module(), "kernel", [argument_of(a) for a in arrays], runs=2)


def _type(w: Writer) -> Ty:
    if w.chance(0.3):
        return random_float(w.rng)
    ty = element_type(w)
    while ty.bits > 40 or ty.is_fixed or ty.kind == "bfloat16":
        ty = element_type(w)
    return ty


def _statement(w: Writer, n: int, m: int, k: int) -> None:
    choice = w.rng.random()
    name = w.fresh("X")
    if choice < 0.40:
        text, ty, shape = _tree(w, 2)
        declared = ty if w.chance(0.5) and ty.bits <= 128 else _type(w)
        if w.chance(0.3) and ty.bits <= 128:
            w.line(f"{name} = {text}")
            declared = ty
        else:
            w.line(f"{name}: {annotation(declared, shape)} = {text}")
        w.scope.arrays.append(Array(name, declared, shape))
    elif choice < 0.55:
        _product(w, name)
    elif choice < 0.65:
        array = _matrix(w)
        if array is None:
            return
        shape = (array.shape[1], array.shape[0])
        text = w.pick((f"{array.name}.T", f"allo.transpose({array.name}, (1, 0))"))
        w.line(f"{name}: {annotation(array.ty, shape)} = {text}")
        w.scope.arrays.append(Array(name, array.ty, shape))
    elif choice < 0.75:
        array = w.pick(w.scope.arrays)
        text = w.pick((f"{array.name}.copy()", f"allo.copy({array.name})", array.name))
        w.line(f"{name}: {annotation(array.ty, array.shape)} = {text}")
        w.scope.arrays.append(Array(name, array.ty, array.shape))
    elif choice < 0.85:
        out = w.pick(w.scope.arrays)
        text, _, shape = _tree(w, 1)
        fits = len(shape) <= len(out.shape) and out.shape[len(out.shape) - len(shape) :] == shape
        w.line(f"{out.name}[{', '.join(':' for _ in out.shape)}] = {text if fits else '3'}")
    elif choice < 0.93:
        array = _matrix(w)
        if array is None:
            return
        row = w.rng.randrange(array.shape[0])
        w.line(f"{name}: {annotation(array.ty, array.shape[1:])} = {array.name}[{row}] + 1")
        w.scope.arrays.append(Array(name, array.ty, array.shape[1:]))
    else:
        array = w.pick(w.scope.arrays)
        flat = 1
        for extent in array.shape:
            flat *= extent
        w.line(f"{name}: {annotation(array.ty, (flat,))} = allo.view({array.name}, ({flat},))")
        w.scope.arrays.append(Array(name, array.ty, (flat,)))


def _matrix(w: Writer) -> Array | None:
    matrices = [a for a in w.scope.arrays if len(a.shape) == 2]
    return w.pick(matrices) if matrices else None


def _product(w: Writer, name: str) -> None:
    pairs = [
        (a, b)
        for a in w.scope.arrays
        for b in w.scope.arrays
        if len(a.shape) == len(b.shape) == 2 and a.shape[1] == b.shape[0] and a.ty == b.ty
    ]
    if not pairs:
        return
    a, b = w.pick(pairs)
    if a.ty.is_float:
        w.use("float reduction")
    text = w.pick((f"{a.name} @ {b.name}", f"allo.matmul({a.name}, {b.name})"))
    ty = a.ty if w.chance(0.5) else _type(w)
    shape = (a.shape[0], b.shape[1])
    w.line(f"{name}: {annotation(ty, shape)} = {text}")
    w.scope.arrays.append(Array(name, ty, shape))


def _tree(w: Writer, depth: int) -> tuple[str, Ty, tuple[int, ...]]:
    """An element-wise expression: text, element type, shape."""
    if depth == 0:
        array = w.pick(w.scope.arrays)
        return array.name, array.ty, array.shape
    text, ty, shape = _tree(w, depth - 1)
    choice = w.rng.random()
    if choice < 0.25:
        return f"(-{text})", Ty("int", ty.bits) if ty.kind == "uint" else ty, shape
    op = w.pick(("+", "-", "*"))
    other, kind, its = w.pick(
        [(a.name, a.ty, a.shape) for a in w.scope.arrays if a.shape == shape[-len(a.shape) :]]
        + [("2", Ty("int", 32), ())]
    )
    made = result(op, ty, kind)
    if made is None or made.bits > MAX_BITS:
        return text, ty, shape
    del its
    return f"({text} {op} {other})", made, shape


def _observe(w: Writer, n: int, m: int) -> None:
    for array in w.scope.arrays:
        if not array.name.startswith("X"):
            continue
        names = [w.fresh("o") for _ in array.shape]
        w.line(f"for {', '.join(names)} in allo.grid({', '.join(map(str, array.shape))}):")
        w.line(f"    D[{names[0]} % {n}, {names[-1]} % {m}] += {array.name}[{', '.join(names)}]")
