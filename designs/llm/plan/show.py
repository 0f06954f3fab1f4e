"""A plan as plain data, and as tables for the terminal."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from rich.table import Table

from .reports import KINDS, load_models
from .search import NAMES, Plan


def as_data(plan: Plan) -> dict[str, Any]:
    """Everything a plan says, for JSON."""
    question, found = plan.question, plan.found
    limits = question.limits()
    slowest, fastest = load_models().fmax_mhz
    return {
        "model": question.model.name,
        "device": question.device.name,
        "bits": question.bits,
        "clock_mhz": round(found.clock_mhz, 1),
        "context": question.context,
        "position": question.position,
        "engine": asdict(found.engine),
        "cache": "chip" if found.cache_on_chip else "memory",
        "cycles": round(found.time.cycles),
        "cycles_of_the_multipliers": round(found.time.compute),
        "cycles_of_the_memory": round(found.time.memory),
        "tokens_per_second": round(plan.tokens_per_second, 1),
        "bound_tokens_per_second": round(plan.bound_tokens_per_second, 1),
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
    if question.model.gated:
        told.append(
            "Simulated RTL is of the GPT-2 family: its norm and GELU stand for RMS norm and SwiGLU."
        )
    if not found.cache_on_chip:
        told.append("Keys and values lie in the memory beside the weights, by equation (19).")
    if question.device.name != "u280":
        told.append("Resources are estimated for UltraScale+, whose lookup tables are alike.")
    return told


def tables(plan: Plan) -> list[Table]:
    """What was found, and what it takes."""
    question, found, engine = plan.question, plan.found, plan.found.engine
    title = (
        f"{question.model.title}, weights of {question.bits} bits, {question.device.title}, "
        f"{round(found.clock_mhz, 1):g} MHz"
    )
    first = Table(title=title, title_justify="left", show_header=False)
    for name, value in (
        ("channels", f"{engine.channels} of {question.device.channels}"),
        ("lanes a channel", f"{engine.lanes} bytes, {engine.weights} weights"),
        ("V, width of vector units", f"{engine.vector}"),
        ("heads at once", f"{engine.heads}"),
        ("prefetch of a channel", f"{engine.prefetch:,} words"),
        ("cycles of V GELUs", f"{engine.gelu_interval}"),
        ("keys and values", "on the chip" if found.cache_on_chip else "in the memory"),
        ("context, position", f"{question.context:,}, {question.position:,}"),
        ("cycles of a token", f"{found.time.cycles:,.0f}"),
        ("tokens/s", f"{plan.tokens_per_second:,.1f}"),
        (
            "bound of the bandwidth",
            f"{plan.bound_tokens_per_second:,.1f} tokens/s, {plan.bandwidth_share:.1%} reached",
        ),
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
