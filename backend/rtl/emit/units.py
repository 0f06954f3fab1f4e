"""Operators that take cycles: instances that operations share, or ports to those a caller holds."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from allo.dialects.diagnostics import SourcePlace

from ..netlist.operations import CLOCK, CLOCK_TYPE, Instance
from ..operators.iterated import GO
from ..operators.spec import Operator
from ..plan.bind import Interface, unit_stem
from .builder import ModuleBuilder


class Units:
    """The units of one function; ``lends``: those that can be shared are its caller's."""

    def __init__(
        self, text: ModuleBuilder, operators: Mapping[str, tuple[Operator, int]], *, lends: bool
    ) -> None:
        self._text = text
        self._operators = operators
        self._lends = lends
        self._users: dict[tuple[str, int], list[tuple[str, list[str]]]] = defaultdict(list)
        self._busy: dict[tuple[str, int], list[str]] = defaultdict(list)
        self._results: dict[tuple[str, int], str] = {}
        self._places: dict[tuple[str, int], dict[SourcePlace, None]] = defaultdict(dict)

    def use(
        self,
        key: tuple[str, int],
        condition: str,
        operands: list[str],
        busy: str,
        place: SourcePlace | None = None,
    ) -> str:
        """Give a unit operands while a condition holds; the name of its result.

        ``busy`` is high from then until the result is taken. ``place`` is the line that the unit serves.
        """
        if place is not None:
            self._places[key][place] = None
        self._users[key].append((condition, operands))
        self._busy[key].append(busy)
        if key not in self._results:
            self._results[key] = self._text.fresh()
        return self._results[key]

    def finish(self, interface: Interface) -> None:
        """Instances of the units, or ports to those the caller holds."""
        for (module, number), users in self._users.items():
            operator = self._operators[module][0]
            inputs = [
                self._text.choose([(valid, operands[i]) for valid, operands in users], width)
                for i, width in enumerate(operator.operand_widths)
            ]
            result = self._results[module, number]
            if not (self._lends and operator.shareable):
                go = self._text.any_of(*(valid for valid, _ in users))
                self._instance(operator, (module, number), inputs, result, go)
                continue
            interface.units[module, number] = operator
            stem = unit_stem(module, number)
            for name, value, width in zip("abcd", inputs, operator.operand_widths, strict=False):
                self._text.output(f"{stem}_{name}", f"i{width}", value)
            answer = self._text.input(f"{stem}_r", f"i{operator.result_width}")
            self._text.alias(result, answer, operator.result_width)

    def _instance(
        self, operator: Operator, key: tuple[str, int], inputs: list[str], result: str, go: str
    ) -> None:
        given = {
            name: (value, f"i{width}")
            for name, value, width in zip("abcd", inputs, operator.operand_widths, strict=False)
        }
        if operator.initiation_interval > 1:
            given[GO] = (go, "i1")

        def instance(enable: str) -> Instance:
            joined = {"clk": (CLOCK, CLOCK_TYPE), "ce": (enable, "i1"), **given}
            made = [(result, "r", f"i{operator.result_width}")]
            return Instance(f"{key[0]}_{key[1]}", operator.module, joined, made)

        text, places = self._text, list(self._places[key])
        busy = text.native_any_of(*self._busy[key])
        always = text.enable or text.const(1, 1)
        text.styled(instance(always), instance(text.native_all_of(text.enable, busy)), places)
