"""A plan as plain data, and as tables for the terminal."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from rich.table import Table

from .fits import KINDS
from .question import Plan
from .reports import load_models
from .search import NAMES

PLACES = {
    "chip": "on the chip",
    "external": "in the memory",
    "channels": "in the channels of the weights, which have one reader each",
}
"""Where keys and values are."""


def as_data(plan: Plan) -> dict[str, Any]:
    """Everything a plan says, for JSON."""
    question, found = plan.question, plan.found
    limits = question.limits()
    slowest, fastest = load_models().fmax_mhz
    return {
        "model": question.model.name,
        "device": question.device.name,
        "bits": None if question.ternary else question.bits,
        "weights": "ternary" if question.ternary else f"int{question.bits}",
        "clock_mhz": round(found.clock_mhz, 1),
        "context": question.context,
        "position": question.position,
        "engine": asdict(found.engine),
        "cache": {"external": "memory"}.get(found.wide.cache, found.wide.cache),
        "cache_bits": question.cache_bits,
        "keys_at_once": found.wide.keys,
        "cycles": round(found.time.cycles),
        "cycles_of_the_multipliers": round(found.time.compute),
        "cycles_of_the_memory": round(found.time.memory),
        "tokens_per_second": round(plan.tokens_per_second, 1),
        "bound_tokens_per_second": None
        if question.ternary
        else round(plan.bound_tokens_per_second, 1),
        "bandwidth_share": round(plan.bandwidth_share, 4),
        "limit": plan.limit,
        "faster_without": {kind: round(cycles) for kind, cycles in plan.freed.items()},
        "takes": {
            kind: {"takes": round(found.taken[kind]), "may_take": round(limits[kind])}
            for kind in (*KINDS, "dram")
        },
        "tried": plan.tried,
        "estimated_clock_mhz": [round(slowest, 1), round(fastest, 1)],
        "notes": notes(plan),
    }


def notes(plan: Plan) -> list[str]:
    """What a reader has to know of where the figures come from."""
    question, found = plan.question, plan.found
    slowest, fastest = load_models().fmax_mhz
    whose = "the one asked for"
    if question.clock_mhz is None:
        whose = (
            "that of the compiler's estimates for a design of this size, without ports of memories"
        )
    told = [
        f"The clock is {whose}. The estimates of the measured designs are {slowest:.0f} to {fastest:.0f} MHz."
    ]
    if question.model.gated and found.wide.cache != "channels":
        told.append(
            "Estimates are of the GPT-2 family: its norm and GELU stand for RMS norm and SwiGLU."
        )
    if found.wide.cache == "external":
        told.append("Keys and values lie in the memory beside the weights, by equation (19).")
    if found.wide.cache == "channels":
        told.append("Each channel has one reader, and the token is foretold line by line.")
    if question.ternary:
        told.append(
            "Ternary weights, keys and values are on the chip, and nothing bounds a token outside."
        )
    if question.device.name != "u280":
        told.append("Resources are estimated for UltraScale+, whose lookup tables are alike.")
    return told


def tables(plan: Plan) -> list[Table]:
    """What was found, and what it takes."""
    question, found, engine = plan.question, plan.found, plan.found.engine
    title = (
        f"{question.model.title}, {question.weights}, {question.device.title}, "
        f"{round(found.clock_mhz, 1):g} MHz"
    )
    first = Table(title=title, title_justify="left", show_header=False)
    for name, value in (
        *_elements(plan),
        ("V, width of vector units", f"{engine.vector}"),
        ("heads at once", f"{engine.heads}"),
        ("cycles of V GELUs", f"{engine.gelu_interval}"),
        ("keys and values", f"{question.cache_bits} bits, {PLACES[found.wide.cache]}"),
        ("context, position", f"{question.context:,}, {question.position:,}"),
        ("cycles of a token", f"{found.time.cycles:,.0f}"),
        ("tokens/s", f"{plan.tokens_per_second:,.1f}"),
        ("bound of the bandwidth", _bound(plan)),
        ("limited by", plan.limit),
        ("accelerators tried", f"{plan.tried:,}"),
    ):
        first.add_row(name, value)
    second = Table(title="What it takes", title_justify="left")
    for name in ("resource", "takes", "may take", "share"):
        second.add_column(name, justify="left" if name == "resource" else "right")
    limits = question.limits()
    for kind in (*KINDS, "dram"):
        taken, limit = found.taken[kind], limits[kind]
        second.add_row(
            NAMES[kind], f"{taken:,.0f}", f"{limit:,.0f}", f"{taken / limit:.0%}" if limit else ""
        )
    return [first, second]


def _elements(plan: Plan) -> list[tuple[str, str]]:
    """What the elements are, and where their words come from."""
    question, engine = plan.question, plan.found.engine
    if question.ternary:
        return [("elements", f"{engine.channels}, of {engine.trits} ternary weights each")]
    return [
        ("channels", f"{engine.channels} of {question.device.channels}"),
        ("lanes a channel", f"{engine.lanes} bytes, {engine.weights} weights"),
        ("prefetch of a channel", f"{engine.prefetch:,} words"),
    ]


def _bound(plan: Plan) -> str:
    if plan.question.ternary:
        return "none: the weights are on the chip"
    return f"{plan.bound_tokens_per_second:,.1f} tokens/s, {plan.bandwidth_share:.1%} reached"
