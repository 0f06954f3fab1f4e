"""What the wide accelerator has to know of a model: sizes of its jobs, and the kernels of its family."""

from __future__ import annotations

from ...config import Architecture


def job_sizes(m: Architecture) -> tuple[tuple[int, int], ...]:
    """Outputs and inputs of the four jobs of a layer: q, k and v; p; gate and f1; f2."""
    linears = m.linears()
    return tuple(
        (sum(linears[name][0] for name in names), linears[names[0]][1]) for names in job_layers(m)
    )


def job_layers(m: Architecture) -> tuple[tuple[str, ...], ...]:
    """The linear layers of the four jobs of a layer."""
    up = ("gate", "f1") if m.gated else ("f1",)
    return ("q", "k", "v"), ("p",), up, ("f2",)


def all_sums(m: Architecture, outputs: int) -> int:
    """Sums of a step: the outputs of all jobs, of which the last has ``outputs``."""
    return m.layers * sum(size for size, _ in job_sizes(m)) + outputs


def terms(m: Architecture) -> tuple[int, int]:
    """Numbers that the tables have for an output and for an element of a norm.

    For an output a factor, and a bias if any linear layer has one; for an element a gain, a shift if the
    norms subtract the mean, and a step for the quantised result if the result itself is kept, too.
    """
    return 2 if m.biases else 1, 1 + (not m.rms) + m.post_norm


def position_row(m: Architecture) -> int:
    """Numbers of a position's row: those added to a token's, or cosines and sines of a head's pairs."""
    return m.head_dim if m.rotary else m.d


def norm_names(m: Architecture) -> list[str]:
    """The norms of a step in their order."""
    of_layers = [f"{layer}.{norm}" for layer in range(m.layers) for norm in ("norm1", "norm2")]
    return ["embed", *of_layers] if m.post_norm else [*of_layers, "norm"]
