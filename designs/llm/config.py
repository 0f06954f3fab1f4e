"""The shape of a transformer, and the parameters it has."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class GPTConfig:
    """A pre-norm decoder-only transformer.

    Attributes:
        layers: decoder blocks.
        d: hidden width.
        heads: attention heads; ``d`` is a multiple of it.
        ffn: width of the feed-forward layer.
        context: longest sequence, the extent of the KV cache.
        vocab: number of tokens.
    """

    layers: int = 2
    d: int = 64
    heads: int = 4
    ffn: int = 256
    context: int = 128
    vocab: int = 32

    def __post_init__(self) -> None:
        if min(self.layers, self.d, self.heads, self.ffn, self.context, self.vocab) <= 0:
            raise ValueError(f"Every dimension of a transformer is positive, unlike in {self}.")
        if self.d % self.heads:
            raise ValueError(
                f"The hidden width {self.d} is not a multiple of the {self.heads} heads."
            )

    @property
    def head_dim(self) -> int:
        """The width of one head."""
        return self.d // self.heads

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Every parameter of the float model and its shape; weights are (outputs, inputs)."""
        d = self.d
        shapes: dict[str, tuple[int, ...]] = {
            "token": (self.vocab, d),
            "position": (self.context, d),
            "norm.g": (d,),
            "norm.b": (d,),
            "head.w": (self.vocab, d),
            "head.b": (self.vocab,),
        }
        for layer in range(self.layers):
            p = f"{layer}."
            for norm in ("norm1", "norm2"):
                shapes[p + norm + ".g"] = (d,)
                shapes[p + norm + ".b"] = (d,)
            for name, (rows, cols) in self.linears().items():
                shapes[f"{p}{name}.w"] = (rows, cols)
                shapes[f"{p}{name}.b"] = (rows,)
        return shapes

    def linears(self) -> dict[str, tuple[int, int]]:
        """The linear layers of one block: name to (outputs, inputs)."""
        d, ffn = self.d, self.ffn
        return {"q": (d, d), "k": (d, d), "v": (d, d), "p": (d, d), "f1": (ffn, d), "f2": (d, ffn)}
