"""The estimate of a design's resources in its report: of the whole, of functions, of loops."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Mapping

from allo.dialects.diagnostics import CapacityWarning
from allo.dialects.reports.figures import DesignReport, LoopReport

from .capacity import excess
from .design import KINDS, ModuleResources, instance_counts, module_resources, whole

NOTE = (
    "Resources are estimates of everything in the design, as Yosys would map it to {device}: units, "
    "multiplexers, control, counters, FIFOs, registers and memories; memories of array arguments are "
    "outside of the design."
)


def add_estimates(
    report: DesignReport, text: str, top: str, device: str, modules: Mapping[str, str]
) -> None:
    """Fill in the resources of a report, and warn where the design does not fit the device.

    Args:
        text: the design in hw, comb and seq.
        top: its top module.
        device: device family.
        modules: function name to module name.
    """
    found = module_resources(text, device)
    report.resources = whole(found, top)
    functions = set(modules.values())
    counts = instance_counts(found, top)
    users: dict[str, dict[str, int]] = {}
    for function in report.functions:
        name = modules[function.name]
        if name not in found:
            continue
        function.resources = _with_units(found, name, functions)
        for loop in function.loops:
            _loop(loop, found[name])
    for name, module in found.items():
        times = counts.get(name, 0)
        if times:
            label = f"{times} of {name}" if times > 1 else name
            users[label] = {kind: times * count for kind, count in module.own.items()}
    report.notes.append(NOTE.format(device=device))
    for sentence in excess(device, report.resources, users):
        report.notes.append(sentence)
        warnings.warn(sentence, CapacityWarning, stacklevel=4)


def _with_units(
    found: Mapping[str, ModuleResources], name: str, functions: set[str]
) -> dict[str, int]:
    """A function's module with the units and FIFOs in it, without other functions."""
    inner = {
        key: value if key == name or key not in functions else ModuleResources()
        for key, value in found.items()
    }
    return whole(inner, name)


def _loop(loop: LoopReport, module: ModuleResources) -> Counter[str]:
    total = Counter(module.sections.get(loop.section, {})) if loop.section else Counter[str]()
    for child in loop.children:
        total.update(_loop(child, module))
    loop.resources = {kind: total[kind] for kind in KINDS if total[kind] > 0}
    return total
