"""Logic in front of registers that their own enable and reset inputs do."""

from __future__ import annotations

from collections.abc import Sequence

from .nodes import Node, Run, Value, cut, part_of, width_of


def absorb_controls(
    nodes: list[Node], roots: Sequence[Value], *, again: bool, ordered: bool
) -> None:
    """Take multiplexers with a constant, or with the register itself, into the inputs of registers.

    Yosys first looks for resets, then for enables, and joins them to those that a register has. A reset that
    an enable holds back is not joined to one that it does not. A multiplexer that others read too, and that
    would be an enable, stays in front of the register.

    Args:
        roots: what is read from outside.
        again: also where a register has such an input already (:attr:`.Cells.controls_join`).
        ordered: whether resets are stronger than enables (:attr:`.Cells.resets_first`).
    """
    read = bits_read(nodes, roots) if ordered else {}
    for number, node in enumerate(nodes):
        if node.kind != "register" or not node.operands:
            continue
        held_back = False
        before: tuple[str, tuple[Value, ...]] = ("", ())
        while before != (node.detail, node.operands):
            before = node.detail, node.operands
            has_enable, has_reset = "e" in node.detail, "r" in node.detail
            if not has_reset or again and (not ordered or not has_enable or held_back):
                kind = _absorb_reset(nodes, node, "gate")
                while kind:
                    kind = _absorb_reset(nodes, node, kind)
                held_back = held_back or has_enable and "r" in node.detail and not has_reset
            alone = all(read.get(run[0], 0) <= nodes[run[0]].width for run in node.operands[0])
            if not has_enable or again and alone:
                _absorb_enable(nodes, node, number)
            if ordered and again and alone and before == (node.detail, node.operands):
                _absorb_inner(nodes, node, number, read)
            if not (again and ordered):
                break
        node.detail += "h" if held_back else ""


def bits_read(nodes: list[Node], roots: Sequence[Value]) -> dict[int, int]:
    """How many bits of each node all that is of use reads."""
    found: dict[int, int] = {}
    stack = [run for value in roots for run in value if run[0] >= 0]
    while stack:
        number, low, count = stack.pop()
        if number not in found:
            found[number] = 0
            stack += [run for value in nodes[number].operands for run in value if run[0] >= 0]
        found[number] += count if low >= 0 else 2
    return found


def _absorb_reset(nodes: list[Node], node: Node, kind: str) -> str:
    """Take a gate in front of a register into its reset, and one behind it of the same kind.

    Args:
        kind: how the detail of the gates begins.

    Returns:
        the detail of the gates, which have one constant; "" where there are none that the reset can do.
    """
    data, *controls = node.operands
    found = _sides(nodes, data, kind)
    if found is None:
        return ""
    control, sides = found
    details = {nodes[run[0]].detail for run in data if run[0] >= 0}
    node.operands = (tuple(part_of(run, side[1]) for run, side in sides), *controls, (control,))
    node.detail += "" if "r" in node.detail else "r"
    return details.pop() if len(details) == 1 else ""


def _absorb_enable(nodes: list[Node], node: Node, number: int) -> None:
    data, *controls = node.operands
    found = _sides(nodes, data, "mux")
    if found is None:
        return
    control, sides = found
    kept = _without_hold(sides, number)
    if kept is None:
        return
    node.operands = (kept, (control,), *controls)
    node.detail = node.detail if "e" in node.detail else f"e{node.detail}"


def _absorb_inner(nodes: list[Node], node: Node, number: int, read: dict[int, int]) -> None:
    """Take a hold behind another choice into the enable: what is chosen first has no multiplexer then.

    The register is enabled by the choice or by the condition of the hold, and a bit has one choice less.
    Where others read more than a few bits of the inner one, it stays.
    """
    data, *controls = node.operands
    found = _sides(nodes, data, "mux")
    if found is None:
        return
    control, sides = found
    for inner in (1, 0):
        chosen = [part_of(run, side[inner]) for run, (_, *side) in sides]
        if any(run[0] < 0 or 2 * read.get(run[0], 0) > 3 * nodes[run[0]].width for run in chosen):
            continue
        held = _sides(nodes, tuple(chosen), "mux")
        kept = _without_hold(held[1], number) if held is not None else None
        if held is None or kept is None:
            continue
        other = [part_of(run, side[1 - inner]) for run, (_, *side) in sides]
        sources = (tuple(other), kept) if inner else (kept, tuple(other))
        runs = _choice(nodes, nodes[data[0][0]], control, *sources)
        node.operands = (runs, (held[0],), (control,), *controls)
        node.detail = node.detail if "e" in node.detail else f"e{node.detail}"
        return


def _without_hold(sides: list[tuple[Run, list[Run]]], number: int) -> Value | None:
    """What multiplexers choose where they do not choose the register's own bits; None where they do not."""
    kept: list[Run] = []
    at = 0
    for run, (_, then, other) in sides:
        own = (number, at, run[2])
        first, second = part_of(run, then), part_of(run, other)
        if own not in (first, second):
            return None
        kept.append(second if first == own else first)
        at += run[2]
    return tuple(kept)


def _choice(nodes: list[Node], like: Node, control: Run, a: Value, b: Value) -> Value:
    """New multiplexers between two values, of which each takes a run of both."""
    found: list[Run] = []
    at, width = 0, width_of(a)
    while at < width:
        left, right = cut(a, at, width - at)[0], cut(b, at, width - at)[0]
        count = min(left[2], right[2])
        left, right = cut((left,), 0, count)[0], cut((right,), 0, count)[0]
        chosen_by = control if count == 1 else (control[0], ~control[1], count)
        operands = ((chosen_by,), (left,), (right,))
        made = Node("logic", count, operands, like.detail, section=like.section)
        made.place = like.place
        nodes.append(made)
        found.append((len(nodes) - 1, 0, count))
        at += count
    return tuple(found)


def _sides(
    nodes: list[Node], data: Value, kind: str
) -> tuple[Run, list[tuple[Run, list[Run]]]] | None:
    """The control that all bits share, and the operands of each run; None where there is another node."""
    control: Run | None = None
    found = []
    for run in data:
        if run[0] < 0:
            if kind.startswith("gate") and len(data) > 1:
                found.append((run, [run, run]))
                continue
            return None
        node = nodes[run[0]]
        if node.kind != "logic" or not node.detail.startswith(kind):
            return None
        operands = [value[0] for value in node.operands]
        choice = (operands[0][0], operands[0][1] if operands[0][1] >= 0 else ~operands[0][1], 1)
        if control not in (None, choice):
            return None
        control = choice
        found.append((run, operands))
    return (control, found) if control is not None else None
