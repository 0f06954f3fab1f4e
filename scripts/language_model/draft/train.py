"""Train a draft head on what its model answers, and measure how many tokens it saves (see ``prepare.py``).

    python3 scripts/language_model/draft/train.py FOLDER [--steps N] [--own N] [--limit N]

The model answers the prompts of the folder, and prompts of its own, greedily. The head learns the model's
next distributions in those answers, from the model's hidden values and then from its own of up to three
places before, as it will be used (Zhang et al., "HASS", ICLR 2025). ``head.npz`` (float16) and
``measured.json`` go to the folder, or to that of ``--out``.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from measure import measured
from model import Head, Rotary, Target, read_head, read_tensors
from torch import Tensor
from torch.nn import functional

DEPTHS = 3
LONGEST = 384
USER_TOKENS = 80
ANSWER_TOKENS = 256


class Writer:
    """The model's continuations of many prompts at once, with a cache."""

    def __init__(self, target: Target, rotary: Rotary, end: int) -> None:
        self.target, self.rotary, self.end = target, rotary, end

    def go_on(self, prompts: list[list[int]], count: int, temperature: float) -> list[list[int]]:
        """What follows each prompt, up to its end or ``count`` tokens; the likeliest at temperature 0."""
        device = self.target.embedding.device
        longest, batch = max(map(len, prompts)), len(prompts)
        pad = torch.tensor([longest - len(p) for p in prompts], device=device)
        rows = [[self.end] * (longest - len(p)) + p for p in prompts]
        tokens = torch.tensor(rows, device=device)
        places = torch.arange(longest + count, device=device)
        real = places[None] >= pad[:, None]
        block = self.target.blocks[0]
        size = (len(self.target.blocks), batch, block.heads, longest + count, block.width)
        keys, values = (
            torch.zeros(size, device=device, dtype=self.target.norm.dtype) for _ in "kv"
        )
        said: list[Tensor] = []
        over = torch.zeros(batch, dtype=torch.bool, device=device)
        start, stop, taken = 0, longest, tokens
        for _ in range(count):
            mask = real[:, None, None, :stop] & (places[:stop] <= places[start:stop, None])
            mask = mask | torch.eye(stop, dtype=torch.bool, device=device)[start:stop]
            turn = self.rotary.at((places[start:stop] - pad[:, None]).clamp(min=0))
            x = self.target.embedding[taken]
            for at, each in enumerate(self.target.blocks):
                q, k, v = each.taken(x, turn)
                keys[at, :, :, start:stop], values[at, :, :, start:stop] = k, v
                mixed = functional.scaled_dot_product_attention(
                    q, keys[at, :, :, :stop], values[at, :, :, :stop], mask
                )
                x = each.ended(x, mixed)
            last = functional.rms_norm(
                x[:, -1], x.shape[-1:], self.target.norm, self.target.shape["eps"]
            )
            logits = (last @ self.target.embedding.T).float()
            if temperature:
                chosen = torch.multinomial((logits / temperature).softmax(-1), 1)[:, 0]
            else:
                chosen = logits.argmax(-1)
            chosen = torch.where(over, self.end, chosen)
            said.append(chosen)
            over = over | (chosen == self.end)
            start, stop, taken = stop, stop + 1, chosen[:, None]
            if bool(over.all()):
                break
        found = []
        for row in torch.stack(said, 1).tolist():
            found.append(row[: row.index(self.end) + 1] if self.end in row else row)
        return found


def sequences(
    told: dict[str, Any], writer: Writer, own: int, batch: int
) -> list[tuple[int, list[int]]]:
    """Prompts with their answers, and where each answer begins."""
    prompts = [prompt for prompt in told["prompts"] if len(prompt) < LONGEST - 64]
    while len(prompts) < len(told["prompts"]) + own:
        asked = writer.go_on([told["user"]] * batch, USER_TOKENS, 1.0)
        prompts += [
            [*told["user"], *text[:-1], *told["answer"]]
            for text in asked
            if 4 < len(text) < USER_TOKENS
        ]
    prompts.sort(key=len)
    found = []
    for at in range(0, len(prompts), batch):
        part = prompts[at : at + batch]
        answers = writer.go_on(part, min(ANSWER_TOKENS, LONGEST - len(part[-1])), 0.0)
        found += [(len(p), p + a) for p, a in zip(part, answers, strict=True)]
    return found


def padded(rows: list[tuple[int, list[int]]], end: int, device: str) -> tuple[Tensor, Tensor]:
    """Tokens (batch, length), and the places whose next token but one is of an answer."""
    longest = max(len(row) for _, row in rows)
    tokens = torch.full((len(rows), longest), end, device=device)
    counted = torch.zeros((len(rows), longest - 1), dtype=torch.bool, device=device)
    for at, (start, row) in enumerate(rows):
        tokens[at, : len(row)] = torch.tensor(row, device=device)
        counted[at, start - 2 : len(row) - 2] = True
    return tokens, counted


def shifted(x: Tensor, places: int) -> Tensor:
    """x (…, length, width) later by some places, zeros in front."""
    return functional.pad(x, (0, 0, places, 0))[..., : x.shape[-2], :] if places else x


def unrolled(
    head: Head, hidden: Tensor, embedded: Tensor, turn: tuple[Tensor, Tensor]
) -> list[Tensor]:
    """What the head foretells from the model's hidden values, then from its own of 1, 2, … places."""
    length = hidden.shape[1]
    places = torch.arange(length, device=hidden.device)
    outputs: list[Tensor] = []
    kept: list[tuple[Tensor, Tensor]] = []
    source = hidden
    for depth in range(DEPTHS):
        x = head.joined(source, embedded)
        q, k, v = head.block.taken(x, turn)
        kept.append((k, v))
        scale = head.block.width**-0.5
        scores = (q @ kept[0][0].transpose(-1, -2)) * scale
        scores = scores.masked_fill(places[None] > places[:, None] - depth, -torch.inf)
        others = [shifted(keys, depth - i) for i, (keys, _) in enumerate(kept) if i]
        extra = [(q * keys).sum(-1, keepdim=True) * scale for keys in others]
        share = torch.cat((scores, *extra), -1).float().softmax(-1).to(v.dtype)
        mixed = share[..., :length] @ kept[0][1]
        for i, (_, each) in enumerate(kept):
            if i:
                mixed = mixed + share[..., length + i - 1, None] * shifted(each, depth - i)
        outputs.append(head.normed(head.block.ended(x, mixed)))
        source = shifted(outputs[-1], 1)
    return outputs


def loss_of(head: Head, target: Target, rotary: Rotary, tokens: Tensor, counted: Tensor) -> Tensor:
    """Cross entropy of the model's distributions and the head's, and how far hidden values are apart."""
    places = torch.arange(tokens.shape[1], device=tokens.device)[None]
    with torch.no_grad():
        hidden = target(tokens, rotary.at(places))
        goal = hidden[:, 1:][counted]
        wanted = (goal @ target.embedding.T).float().softmax(-1)
    embedded = target.embedding[tokens[:, 1:]]
    turn = rotary.at(places[:, :-1])
    total = torch.zeros((), device=tokens.device)
    for depth, output in enumerate(unrolled(head, hidden[:, :-1], embedded, turn)):
        of_answers = output[counted]
        logits = (of_answers @ target.embedding.T).float()
        entropy = -(wanted * logits.log_softmax(-1)).sum(-1).mean()
        total = total + 0.8**depth * (entropy + 0.1 * functional.smooth_l1_loss(of_answers, goal))
    return total


def trained(
    target: Target, rotary: Rotary, told: dict[str, Any], rows: list[tuple[int, list[int]]],
    args: argparse.Namespace,
) -> Head:  # fmt: skip
    """The head after so many steps; the rate falls to nothing by a half cosine."""
    device = target.embedding.device.type
    head = Head(told, target.blocks[-1]).to(device)
    optimizer = torch.optim.AdamW(
        head.parameters(), lr=args.rate, betas=(0.9, 0.95), weight_decay=0.01
    )
    plan = torch.optim.lr_scheduler.OneCycleLR(optimizer, args.rate, args.steps, pct_start=0.05)
    draw = np.random.default_rng(1)
    began = time.time()
    for step in range(args.steps):
        chosen = draw.integers(0, len(rows), args.batch)
        tokens, counted = padded([rows[i] for i in chosen], told["end"], device)
        with torch.autocast(device, torch.bfloat16):
            loss = loss_of(head, target, rotary, tokens, counted)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(head.parameters(), 0.5)
        optimizer.step()
        plan.step()
        if step % max(args.steps // 20, 1) == 0:
            print(f"step {step}: loss {loss.item():.3f}, {time.time() - began:.0f} s", flush=True)
        if time.time() - began > args.seconds:
            break
    return head.eval()


def answered(
    target: Target, rotary: Rotary, told: dict[str, Any], args: argparse.Namespace
) -> list[tuple[int, list[int]]]:
    """What the model answers."""
    began, device = time.time(), target.embedding.device.type
    with torch.no_grad(), torch.autocast(device, torch.bfloat16):
        writer = Writer(target, rotary, told["end"])
        rows = sequences(told, writer, args.own, 512 if device == "cuda" else 4)
    words = sum(len(row) - start for start, row in rows)
    print(f"{len(rows)} answers of {words} tokens, {time.time() - began:.0f} s", flush=True)
    return rows


def main() -> int:
    """Write answers, train, measure."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--own", type=int, default=8192, help="prompts of the model's own")
    parser.add_argument("--limit", type=int, help="of the prompts in the folder")
    parser.add_argument("--steps", type=int, default=3000)
    parser.add_argument("--batch", type=int, default=48)
    parser.add_argument("--rate", type=float, default=5e-4)
    parser.add_argument("--seconds", type=float, default=1e9, help="after which training stops")
    parser.add_argument("--tokens", type=int, default=256, help="of each answer that is measured")
    parser.add_argument("--head", type=Path, help="a head that is measured, and not trained")
    args = parser.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    told = json.loads((args.folder / "draft.json").read_text())
    told["prompts"] = told["prompts"][: args.limit]
    target = Target(told, read_tensors(args.folder)).to(device)
    rotary = Rotary(told["rotary"], device)
    out = args.out or args.folder
    if args.head:
        head = Head(told, target.blocks[-1])
        head.load_state_dict(read_head(args.head))
        head = head.to(device).eval()
    else:
        head = trained(target, rotary, told, answered(target, rotary, told, args), args)
        values = {n: p.detach().half().cpu().numpy() for n, p in head.named_parameters()}
        np.savez(out / "head.npz", **values)
    found = measured(target, head, rotary, told["measured"], args.tokens)
    (out / "measured.json").write_text(json.dumps(found, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
