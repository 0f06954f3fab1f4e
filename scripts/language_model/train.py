"""Train the speaking model's float weights in PyTorch, on a GPU where there is one.

    scripts/python scripts/language_model/prepare.py out/speaker         # tokenizer.json and tokens
    scripts/python scripts/language_model/train.py out/speaker           # needs scripts/setup --torch
    scripts/python scripts/language_model/finish.py out/speaker          # int8 weights into the tree

It needs PyTorch and NumPy and nothing of Allo, so that the folder ``prepare.py`` makes can be taken to
another machine. A run that was cut short goes on from its last saved state when it is started again.
``training.json`` gets the options and the losses. The weights go to ``float-*.npz`` by the names and in
the shapes of Hugging Face's GPT-2, float16, in parts of at most 15 MB.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

PART_BYTES = 15_000_000


@dataclass(frozen=True)
class Options:
    """The model's shape and how it is trained.

    Attributes:
        decay: of the weights' average.
        varied: share of the steps that learn from varied spellings, where prepare.py made some.
    """

    layers: int = 6
    d: int = 384
    heads: int = 6
    ffn: int = 1536
    context: int = 256
    vocab: int = 1536
    steps: int = 6000
    batch: int = 64
    rate: float = 1e-3
    dropout: float = 0.3
    weight_decay: float = 0.1
    decay: float = 0.998
    varied: float = 0.75
    seed: int = 1
    evaluate: int = 250


class Block(nn.Module):
    """One decoder block with layer norm in front of each half; named as GPT-2 names its parts."""

    def __init__(self, o: Options) -> None:
        super().__init__()
        self.heads, self.dropout = o.heads, o.dropout
        self.ln_1, self.ln_2 = nn.LayerNorm(o.d), nn.LayerNorm(o.d)
        self.attn = nn.ModuleDict(
            {"c_attn": nn.Linear(o.d, 3 * o.d), "c_proj": nn.Linear(o.d, o.d)}
        )
        self.mlp = nn.ModuleDict({"c_fc": nn.Linear(o.d, o.ffn), "c_proj": nn.Linear(o.ffn, o.d)})

    def forward(self, x: Tensor) -> Tensor:
        drop = self.dropout if self.training else 0.0
        batch, length, d = x.shape
        parts = self.attn["c_attn"](self.ln_1(x)).chunk(3, dim=-1)
        q, k, v = (t.view(batch, length, self.heads, -1).transpose(1, 2) for t in parts)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True, dropout_p=drop)
        mixed = self.attn["c_proj"](mixed.transpose(1, 2).reshape(batch, length, d))
        x = x + F.dropout(mixed, drop)
        wide = F.gelu(self.mlp["c_fc"](self.ln_2(x)), approximate="tanh")
        return x + F.dropout(self.mlp["c_proj"](wide), drop)


class Model(nn.Module):
    """GPT-2 with the token table as its last layer."""

    def __init__(self, o: Options) -> None:
        super().__init__()
        self.dropout = o.dropout
        self.wte, self.wpe = nn.Embedding(o.vocab, o.d), nn.Embedding(o.context, o.d)
        self.h = nn.ModuleList(Block(o) for _ in range(o.layers))
        self.ln_f = nn.LayerNorm(o.d)
        for name, value in self.named_parameters():
            if value.ndim == 2:
                last = name.endswith("c_proj.weight")
                nn.init.normal_(value, std=0.02 / math.sqrt(2 * o.layers) if last else 0.02)
            elif name.endswith("bias"):
                nn.init.zeros_(value)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.wte(tokens) + self.wpe.weight[: tokens.shape[1]]
        x = F.dropout(x, self.dropout if self.training else 0.0)
        for block in self.h:
            x = block(x)
        return F.linear(self.ln_f(x), self.wte.weight)


class Trainer:
    """The training of one model in one folder."""

    def __init__(self, folder: Path, o: Options, device: str, compiled: bool) -> None:
        self.folder, self.options, self.device = folder, o, device
        torch.manual_seed(o.seed)
        self.model = Model(o).to(device)
        self.run = torch.compile(self.model) if compiled else self.model
        matrices = [p for p in self.model.parameters() if p.ndim == 2]
        vectors = [p for p in self.model.parameters() if p.ndim < 2]
        groups = [
            {"params": matrices, "weight_decay": o.weight_decay},
            {"params": vectors, "weight_decay": 0.0},
        ]
        self.adam = torch.optim.AdamW(groups, lr=o.rate, betas=(0.9, 0.95))
        self.average = {k: v.detach().clone() for k, v in self.model.state_dict().items()}
        self.rng = np.random.default_rng(o.seed)
        self.step, self.history, self.best = 0, [], math.inf
        data = np.load(folder / "tokens.npz")
        self.held_tokens = data["held"]
        self.spellings = [data[name] for name in data.files if name.startswith("varied")]
        self.plain = data["train"]

    def rate(self) -> float:
        o = self.options
        warm = min(1.0, (self.step + 1) / 200)
        return o.rate * warm * (0.05 + 0.95 * 0.5 * (1 + math.cos(math.pi * self.step / o.steps)))

    def batch(self) -> tuple[Tensor, Tensor]:
        o = self.options
        varied = bool(self.spellings) and self.rng.random() < o.varied
        text = self.spellings[self.rng.integers(len(self.spellings))] if varied else self.plain
        starts = self.rng.integers(0, len(text) - o.context - 1, o.batch)
        rows = starts[:, None] + np.arange(o.context + 1)
        tokens = torch.from_numpy(text[rows].astype(np.int64)).to(self.device)
        return tokens[:, :-1], tokens[:, 1:]

    def take_step(self) -> Tensor:
        self.run.train()
        for group in self.adam.param_groups:
            group["lr"] = self.rate()
        inputs, targets = self.batch()
        with torch.autocast(self.device, torch.bfloat16, enabled=self.device == "cuda"):
            logits = self.run(inputs)
        loss = F.cross_entropy(logits.float().flatten(0, 1), targets.flatten())
        self.adam.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.adam.step()
        keep = min(self.options.decay, (1 + self.step) / (10 + self.step))
        with torch.no_grad():
            now = self.model.state_dict()
            torch._foreach_lerp_(list(self.average.values()), list(now.values()), 1.0 - keep)
        self.step += 1
        return loss.detach()

    @torch.no_grad()
    def held_out_loss(self) -> float:
        """Nats a token of the averaged weights, over windows of the context side by side."""
        o = self.options
        model = Model(o).to(self.device)
        model.load_state_dict(self.average)
        model.eval()
        count = (len(self.held_tokens) - 1) // o.context
        inputs = self.held_tokens[: count * o.context].reshape(count, o.context)
        targets = self.held_tokens[1 : count * o.context + 1].reshape(count, o.context)
        total = 0.0
        for first in range(0, count, 32):
            x, y = (
                torch.from_numpy(t[first : first + 32].astype(np.int64)).to(self.device)
                for t in (inputs, targets)
            )
            logits = model(x).float().flatten(0, 1)
            total += float(F.cross_entropy(logits, y.flatten(), reduction="sum"))
        return total / (count * o.context)

    def save_state(self) -> None:
        """Write all that a later run needs to go on from here."""
        state = {
            "model": self.model.state_dict(),
            "adam": self.adam.state_dict(),
            "average": self.average,
            "rng": self.rng.bit_generator.state,
            "torch": torch.get_rng_state(),
            "step": self.step,
            "history": self.history,
            "best": self.best,
        }
        path = self.folder / "state.pt"
        torch.save(state, path.with_suffix(".new"))
        path.with_suffix(".new").replace(path)

    def load_state(self) -> None:
        """Go on from the saved state, if there is one."""
        path = self.folder / "state.pt"
        if not path.is_file():
            return
        state = torch.load(path, map_location=self.device, weights_only=False)
        self.model.load_state_dict(state["model"])
        self.adam.load_state_dict(state["adam"])
        self.average = state["average"]
        self.rng.bit_generator.state = state["rng"]
        torch.set_rng_state(state["torch"].cpu())
        self.step, self.history, self.best = state["step"], state["history"], state["best"]

    def write_weights(self, loss: float, seconds: float) -> None:
        """Write the averaged weights by the names of GPT-2, whose linear layers are (in, out)."""
        for old in self.folder.glob("float-*.npz"):
            old.unlink()
        parts: list[dict[str, np.ndarray]] = [{}]
        for name, value in self.average.items():
            linear = value.ndim == 2 and not name.startswith(("wte", "wpe"))
            array = (value.T if linear else value).to(torch.float16).cpu().numpy()
            if sum(a.nbytes for a in parts[-1].values()) + array.nbytes > PART_BYTES:
                parts.append({})
            parts[-1]["transformer." + name] = np.ascontiguousarray(array)
        for number, arrays in enumerate(parts):
            np.savez(self.folder / f"float-{number}.npz", **arrays)
        report = {
            "options": asdict(self.options),
            "held_out_loss": loss,
            "held_out_perplexity": math.exp(loss),
            "step": self.step,
            "parameters": sum(p.numel() for p in self.model.parameters()),
            "device": torch.cuda.get_device_name() if self.device == "cuda" else "cpu",
            "torch": torch.__version__,
            "seconds": round(seconds, 1),
            "history": self.history,
        }
        (self.folder / "training.json").write_text(json.dumps(report, indent=1) + "\n")

    def train(self, limit_s: float) -> None:
        """Train to the end or the time limit, and keep the weights of the lowest held-out loss."""
        began = time.monotonic()
        while self.step < self.options.steps and time.monotonic() - began < limit_s:
            loss = self.take_step()
            if self.step % self.options.evaluate and self.step != self.options.steps:
                continue
            held = self.held_out_loss()
            seconds = time.monotonic() - began
            self.history.append([self.step, round(float(loss), 4), round(held, 4)])
            print(f"step {self.step} loss {loss:.4f} held {held:.4f} {seconds:.1f} s", flush=True)
            if held < self.best:
                self.best = held
                self.write_weights(held, seconds)
            self.save_state()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="where prepare.py put tokens.npz")
    parser.add_argument("--limit", type=float, default=math.inf, help="seconds to train at most")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--compile", action="store_true", help="compile the model (torch.compile)")
    for name, value in asdict(Options()).items():
        parser.add_argument(f"--{name}", type=type(value), default=value)
    args = vars(parser.parse_args())
    folder, limit, device = args.pop("folder"), args.pop("limit"), args.pop("device")
    trainer = Trainer(folder, device=device, compiled=args.pop("compile"), o=Options(**args))
    trainer.load_state()
    trainer.train(limit)
    print(f"best held-out loss {trainer.best:.4f}, perplexity {math.exp(trainer.best):.3f}")


if __name__ == "__main__":
    main()
