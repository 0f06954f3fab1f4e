"""The table of ``docs/llm/systems.md``: published and measured systems, ours among them.

The figures are in ``data/systems.toml``.

scripts/python designs/llm/analysis/table.py            # print it
scripts/python designs/llm/analysis/table.py --write    # put it in docs/llm/systems.md
"""

from __future__ import annotations

import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from allo.designs.llm.analysis.data import (
    DATA,
    ModelInputError,
    Transformer,
    parse_format,
    transformers,
)
from allo.designs.llm.analysis.energy import token_energy
from allo.designs.llm.analysis.equations import parameter_bits

SYSTEMS = DATA / "systems.toml"
PAGE = Path(__file__).resolve().parents[3] / "docs" / "llm" / "systems.md"
BEGIN, END = "<!-- systems: made by designs/llm/analysis/table.py -->", "<!-- end of systems -->"
U280_W = 225
HEAD = (
    "| | on | model | weights, activations | time to first token, 128 tokens | tokens/s | "
    "bandwidth used | energy a token |"
)


@dataclass(frozen=True, slots=True)
class System:
    """One system; ``data/systems.toml`` says what each field is."""

    title: str
    platform: str
    model: str
    format: str
    kind: str
    clock_mhz: float = 0.0
    prompt_ms: float = 0.0
    tokens_s: float = 0.0
    cycles: int = 0
    share: float = 0.0
    dram_gbs: float = 0.0
    watts: float = 0.0
    rated: bool = False
    said: str = ""
    batch: int = 1

    @property
    def rate(self) -> float:
        """Tokens a second, published, measured, or of the simulated cycles at the estimated clock."""
        return self.clock_mhz * 1e6 / self.cycles if self.cycles else self.tokens_s

    @property
    def speed(self) -> str:
        """Tokens a second as the table says them."""
        return self.said or f"{self.rate:,.{1 if self.rate < 10_000 else 0}f}"

    def used(self, model: Transformer | None) -> str:
        """The share of the bandwidth, as published or from the weights of the layers."""
        if self.share:
            return f"{100 * self.share:.4g} %"
        if model is None or not self.dram_gbs or not self.rate:
            return "–"
        bits = parameter_bits(model, parse_format(self.format))
        moved = model.layers * bits / 8 * self.rate / self.batch
        return f"{100 * moved / self.dram_gbs / 1e9:.1f} %"

    def energy(self, model: Transformer | None) -> str:
        """Joules of a token: of the power, or for ours between the published figures and the card."""
        if self.watts:
            joules = f"{1e3 * self.watts / self.rate:,.0f} mJ"
            return f"{joules} at its rated {self.watts:g} W" if self.rated else joules
        if not self.cycles or model is None:
            return "–"
        bits = parse_format(self.format).weight_bits
        attention = 2 * model.hidden * (model.hidden + model.kv_width)
        layers = model.layers * (attention + (2 + model.gated) * model.hidden * model.ffn)
        logits = model.vocab * model.hidden
        moved = layers * bits / 8 * (1 + 1 / 64 if bits == 4 else 1) + logits
        found = token_energy(moved, layers + logits, 1 / self.rate, U280_W)
        return f"{1e3 * found.least:.0f} to {1e3 * found.card:.0f} mJ"


def load_systems(path: Path = SYSTEMS) -> list[System]:
    """Every system of a file, in its order.

    Raises:
        ModelInputError: an entry has a wrong field, or gives no tokens a second.
    """
    found = []
    for name, entry in tomllib.loads(path.read_text()).items():
        try:
            system = System(**entry)
        except TypeError as error:
            raise ModelInputError(f"The entry {name} in {path} is wrong: {error}.") from error
        if not system.rate > 0 and not system.said:
            raise ModelInputError(
                f"The entry {name} in {path} has no tokens a second.",
                help="give tokens_s, or cycles and clock_mhz, or what is said of it.",
            )
        found.append(system)
    return found


def markdown(systems: list[System]) -> str:
    """The table, a row a system."""
    known = transformers()
    lines = [HEAD, "|---|---|---|---|---|---|---|---|"]
    for system in systems:
        model = known.get(system.model)
        clock = f", {system.clock_mhz:g} MHz" if system.clock_mhz else ""
        title = system.title
        if system.kind != "board":
            title = f"**{title}**: {system.kind}"
        prompt = f"{system.prompt_ms:g} ms" if system.prompt_ms else "–"
        lines.append(
            f"| {title} | {system.platform}{clock} | {model.title if model else system.model} | "
            f"{system.format} | {prompt} | {system.speed} | {system.used(model)} | "
            f"{system.energy(model)} |"
        )
    return "\n".join(lines)


def placed(page: str, table: str) -> str:
    """The page with the table between its marks.

    Raises:
        ModelInputError: the page has no marks.
    """
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ModelInputError(f"The page has no {BEGIN} and {END}.")
    return f"{before}{begin}\n{table}\n{end}{after}"


def main() -> int:
    """Print the table, or put it in the page."""
    table = markdown(load_systems())
    if "--write" in sys.argv[1:]:
        PAGE.write_text(placed(PAGE.read_text(), table))
    Console().print(table, soft_wrap=True, markup=False, highlight=False)
    return 0


if __name__ == "__main__":
    sys.exit(main())
