"""A transformer's shape and arithmetic, and the parameters it has."""

from __future__ import annotations

from dataclasses import dataclass, field

from allo.errors import AlloError

from .constants import EPS

ACTIVATIONS = {
    "gelu_tanh": "GELU in the tanh form",
    "gelu": "GELU by the error function",
    "relu": "ReLU",
    "silu": "SiLU",
}
"""Every activation function, and what a sentence calls it."""
LINEARS = ("q", "k", "v", "p", "gate", "f1", "f2", "head")
"""Every linear layer that a block may have, and that of the logits."""


class ConfigurationError(AlloError, ValueError):
    """A ``config.json`` that lacks an entry, or describes a model that is not known here."""


@dataclass(frozen=True, slots=True)
class Architecture:
    """A transformer's shape and arithmetic.

    Attributes:
        family: its name in a ``config.json``, e.g. ``gpt2``.
        layers: blocks.
        d: hidden width.
        heads: attention heads.
        kv_heads: heads of keys and values; each serves ``heads // kv_heads`` queries.
        head_dim: width of one head.
        ffn: width of the feed-forward layer.
        context: longest sequence, in tokens.
        vocab: number of tokens.
        activation: a key of ``ACTIVATIONS``.
        eps: what a norm adds to the variance.
        rms: norms divide by the root mean square and subtract nothing.
        gated: the feed-forward layer multiplies by a gate (SwiGLU).
        post_norm: norms stand behind the residual sums, as in BERT.
        causal: a token sees none that follow it.
        has_head: the model ends in logits; otherwise in hidden values.
        rotary: angle of a step of one position for each pair of a head that is turned; the other elements
            stay as they are. Empty for learned positions.
        biases: the linear layers that add a bias; those of the others are zeros.
        windows: of each layer, how many tokens up to its own a token sees, 0 for all; empty for all of
            every layer.
        qk_norm: a norm by the root mean square over each head of q and k, in front of the rotation.
        parallel: attention and feed-forward layer of a block take the same norm, and both are added.
    """

    family: str
    layers: int
    d: int
    heads: int
    kv_heads: int
    head_dim: int
    ffn: int
    context: int
    vocab: int
    activation: str
    eps: float
    rms: bool = False
    gated: bool = False
    post_norm: bool = False
    causal: bool = True
    has_head: bool = True
    rotary: tuple[float, ...] = ()
    biases: tuple[str, ...] = LINEARS
    windows: tuple[int, ...] = ()
    qk_norm: bool = False
    parallel: bool = False

    def __post_init__(self) -> None:
        sizes = (self.layers, self.d, self.heads, self.kv_heads, self.head_dim, self.ffn)
        if min(*sizes, self.context, self.vocab) <= 0:
            raise ConfigurationError(f"Every size of a model is positive, unlike in {self}.")
        if self.d % 8 or self.heads % self.kv_heads:
            raise ConfigurationError(
                f"The hidden width {self.d} is not a multiple of 8, or the {self.heads} heads are "
                f"not a multiple of the {self.kv_heads} heads of keys and values."
            )
        known = self.activation in ACTIVATIONS and set(self.biases) <= set(LINEARS)
        if not known or len(self.windows) not in (0, self.layers):
            raise ConfigurationError(
                f"The activation {self.activation!r}, the biases {self.biases} or the windows of the "
                f"{self.layers} layers, {self.windows}, are not known.",
                help=f"activations are {', '.join(ACTIVATIONS)}, biases those of {', '.join(LINEARS)}, "
                "and every layer has a window or none has.",
            )
        if 2 * len(self.rotary) > self.head_dim:
            raise ConfigurationError(
                f"{len(self.rotary)} pairs are turned, and a head of {self.head_dim} elements has "
                f"{self.head_dim // 2}."
            )

    def linears(self) -> dict[str, tuple[int, int]]:
        """The linear layers of one block: name to (outputs, inputs)."""
        d, ffn, hd = self.d, self.ffn, self.head_dim
        wide, narrow = self.heads * hd, self.kv_heads * hd
        found = {"q": (wide, d), "k": (narrow, d), "v": (narrow, d), "p": (d, wide)}
        found |= {"gate": (ffn, d)} if self.gated else {}
        return found | {"f1": (ffn, d), "f2": (d, ffn)}

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Every parameter and its shape, by our names; weights are (outputs, inputs)."""
        d = self.d
        shapes: dict[str, tuple[int, ...]] = {"token": (self.vocab, d)}
        if not self.rotary:
            shapes["position"] = (self.context, d)
        if self.has_head:
            shapes |= {"head.w": (self.vocab, d), "head.b": (self.vocab,)}
        norms = ["embed"] if self.post_norm else ["norm"]
        for layer in range(self.layers):
            norms += [f"{layer}.norm1", *([] if self.parallel else [f"{layer}.norm2"])]
            if self.qk_norm:
                shapes |= {f"{layer}.{name}_norm.g": (self.head_dim,) for name in "qk"}
            for name, (rows, cols) in self.linears().items():
                shapes[f"{layer}.{name}.w"] = (rows, cols)
                shapes[f"{layer}.{name}.b"] = (rows,)
        return shapes | {f"{n}.{part}": (d,) for n in norms for part in "gb"}

    def window(self, layer: int) -> int:
        """How many tokens up to its own a token of a layer sees: at most the context."""
        asked = self.windows[layer] if self.windows else 0
        return min(asked or self.context, self.context)


@dataclass(frozen=True, slots=True)
class GPTConfig(Architecture):
    """The shape of a GPT-2, whose arithmetic is fixed: ``d`` is a multiple of ``heads``."""

    family: str = field(default="gpt2", init=False)
    layers: int = 2
    d: int = 64
    heads: int = 4
    kv_heads: int = field(default=0, init=False)
    head_dim: int = field(default=0, init=False)
    ffn: int = 256
    context: int = 128
    vocab: int = 32
    activation: str = field(default="gelu_tanh", init=False)
    eps: float = field(default=EPS, init=False)
    rms: bool = field(default=False, init=False)
    gated: bool = field(default=False, init=False)
    post_norm: bool = field(default=False, init=False)
    causal: bool = field(default=True, init=False)
    has_head: bool = field(default=True, init=False)
    rotary: tuple[float, ...] = field(default=(), init=False)
    biases: tuple[str, ...] = field(default=LINEARS, init=False)
    windows: tuple[int, ...] = field(default=(), init=False)
    qk_norm: bool = field(default=False, init=False)
    parallel: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        if self.heads > 0 and self.d % self.heads:
            raise ConfigurationError(
                f"The hidden width {self.d} is not a multiple of the {self.heads} heads."
            )
        object.__setattr__(self, "kv_heads", self.heads)
        object.__setattr__(self, "head_dim", self.d // max(self.heads, 1))
        Architecture.__post_init__(self)
