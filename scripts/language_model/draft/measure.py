"""Tokens that a pass of the model gives, with proposals from a draft head and from what was said before.

Everything is computed in float32 anew in each pass, without caches, so that only the method is measured.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from model import Head, Rotary, Target
from torch import Tensor

BEAM, DEPTH = 6, 5
MATCHES = 4, 3, 2
"""Lengths of an ending that is looked up, the longest first."""


@dataclass
class Tree:
    """Proposed tokens; the parent of a node is another one, or -1 for the newest token."""

    tokens: list[int] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)

    def add(self, token: int, parent: int, score: float = 0.0) -> int:
        """A node, or the one that is there already."""
        for at, (each, of) in enumerate(zip(self.tokens, self.parents, strict=True)):
            if each == token and of == parent:
                return at
        self.tokens.append(token)
        self.parents.append(parent)
        self.scores.append(score)
        return len(self.tokens) - 1

    def depths(self) -> list[int]:
        """How far each node is from the newest token."""
        found: list[int] = []
        for parent in self.parents:
            found.append(1 if parent < 0 else found[parent] + 1)
        return found

    def best(self, count: int) -> Tree:
        """The likeliest nodes, whose parents are among them since no child is likelier."""
        order = sorted(range(len(self.tokens)), key=lambda at: -self.scores[at])[:count]
        kept = sorted(order)
        number = {at: new for new, at in enumerate(kept)} | {-1: -1}
        return Tree(
            [self.tokens[i] for i in kept],
            [number[self.parents[i]] for i in kept],
            [self.scores[i] for i in kept],
        )


def seen_by(tree: Tree, before: int, device: Any) -> Tensor:
    """What each of ``before`` tokens and the nodes behind them sees."""
    size = before + len(tree.tokens)
    mask = torch.ones(size, size, dtype=torch.bool, device=device).tril()
    mask[before:, before:] = False
    for at, parent in enumerate(tree.parents):
        row = before + at
        if parent >= 0:
            mask[row, before:] = mask[before + parent, before:]
        mask[row, row] = True
    return mask


class Drafter:
    """Trees from a draft head."""

    def __init__(self, target: Target, head: Head, rotary: Rotary) -> None:
        self.target, self.head, self.rotary = target, head, rotary

    def tree(self, tokens: list[int], hidden: Tensor) -> Tree:
        """Proposals behind the tokens, of which all but the newest have hidden values."""
        device = hidden.device
        given = torch.tensor(tokens, device=device)
        tree = Tree()
        count = len(tokens) - 1
        sources = hidden[:count]
        beam = [-1]
        for _ in range(DEPTH):
            nodes = torch.tensor(tree.tokens, dtype=torch.long, device=device)
            embedded = self.target.embedding[torch.cat((given[1:], nodes))][None]
            depths = torch.tensor(tree.depths(), dtype=torch.long, device=device)
            places = torch.cat((torch.arange(count, device=device), count - 1 + depths))
            mask = seen_by(tree, count, device)[None, None]
            output = self.head(sources[None], embedded, self.rotary.at(places[None]), mask)[0]
            ends = torch.stack([output[count + at if at >= 0 else count - 1] for at in beam])
            shares = (ends @ self.target.embedding.T).float().log_softmax(-1)
            top = shares.topk(BEAM, -1)
            found = sorted(
                (
                    (tree.scores[at] if at >= 0 else 0.0) + score, token, at, ends[row]
                )
                for row, at in enumerate(beam)
                for score, token in zip(top.values[row].tolist(), top.indices[row].tolist(), strict=True)
            )  # fmt: skip
            beam = []
            for score, token, parent, source in found[-BEAM:][::-1]:
                beam.append(tree.add(token, parent, score))
                sources = torch.cat((sources, source[None]))
        return tree


def looked_up(tokens: list[int], count: int) -> Tree:
    """What followed the same ending before, as a chain (Saxena, "Prompt lookup decoding", 2023)."""
    tree = Tree()
    for length in MATCHES:
        ending = tokens[-length:]
        for start in range(len(tokens) - length - 1, -1, -1):
            if tokens[start : start + length] == ending:
                at = -1
                for token in tokens[start + length : start + length + count]:
                    at = tree.add(token, at)
                return tree
    return tree


Propose = Callable[[list[int], Tensor], Tree]


@dataclass(frozen=True)
class Answer:
    """Tokens up to the end, and the passes that gave all but the first, which the prompt gives."""

    tokens: list[int]
    passes: int


def answer(
    target: Target, rotary: Rotary, prompt: list[int], count: int, propose: Propose
) -> Answer:
    """What the model says greedily, up to its end or ``count`` tokens, by passes over proposals."""
    device, end = target.embedding.device, target.shape["end"]
    places = torch.arange(len(prompt), device=device)[None]
    hidden = target(torch.tensor([prompt], device=device), rotary.at(places))[0]
    tokens = [*prompt, int((hidden[-1] @ target.embedding.T).argmax())]
    passes = 0
    while len(tokens) < len(prompt) + count and end not in tokens[len(prompt) :]:
        tree = propose(tokens, hidden)
        before = len(tokens)
        steps = [*range(before), *(before - 1 + depth for depth in tree.depths())]
        turn = rotary.at(torch.tensor([steps], device=device))
        whole = torch.tensor([[*tokens, *tree.tokens]], device=device)
        values = target(whole, turn, seen_by(tree, before, device)[None, None])[0]
        best = (values[before - 1 :] @ target.embedding.T).argmax(-1).tolist()
        nodes = zip(tree.parents, tree.tokens, strict=True)
        children = {node: at for at, node in enumerate(nodes)}
        at, kept = -1, list(range(before))
        while True:
            token = best[at + 1]
            tokens.append(token)
            if (at, token) not in children or token == end:
                break
            at = children[at, token]
            kept.append(before + at)
        hidden = values[kept]
        passes += 1
    return Answer(tokens[len(prompt) : len(prompt) + count], passes)


@torch.no_grad()
def measured(
    target: Target, head: Head, rotary: Rotary, prompts: dict[str, list[list[int]]], count: int
) -> dict[str, Any]:
    """By way of proposing: tokens a pass of each kind of prompt; whether all answers are the plain ones."""
    torch.backends.cuda.matmul.allow_tf32 = False
    drafter = Drafter(target, head, rotary)
    ways: dict[str, Propose] = {
        "lookup of 7": lambda tokens, hidden: looked_up(tokens, 7),
        "head of 7": lambda tokens, hidden: drafter.tree(tokens, hidden).best(7),
        "both of 7": lambda tokens, hidden: both(drafter, tokens, hidden, 7),
        "head of 15": lambda tokens, hidden: drafter.tree(tokens, hidden).best(15),
        "both of 15": lambda tokens, hidden: both(drafter, tokens, hidden, 15),
    }
    plain = {
        kind: [answer(target, rotary, p, count, lambda tokens, hidden: Tree()).tokens for p in each]
        for kind, each in prompts.items()
    }
    found: dict[str, Any] = {}
    for name, propose in ways.items():
        rates, equal = {}, True
        for kind, each in prompts.items():
            said = [answer(target, rotary, prompt, count, propose) for prompt in each]
            equal &= [one.tokens for one in said] == plain[kind]
            given = sum(len(one.tokens) - 1 for one in said)
            rates[kind] = round(given / sum(one.passes for one in said), 3)
        mean = statistics.geometric_mean(rates.values())
        found[name] = {**rates, "geometric mean": round(mean, 3), "equal": equal}
        print(name, found[name], flush=True)
    return {"plain": plain, "ways": found}


def both(drafter: Drafter, tokens: list[int], hidden: Tensor, count: int) -> Tree:
    """The chain that was looked up, if there is one, and the head's likeliest nodes in what is left."""
    tree = looked_up(tokens, count - 2)
    if not tree.tokens:
        return drafter.tree(tokens, hidden).best(count)
    drafted = drafter.tree(tokens, hidden)
    number = {-1: -1}
    for at in sorted(range(len(drafted.tokens)), key=lambda i: -drafted.scores[i]):
        if len(tree.tokens) >= count or drafted.parents[at] not in number:
            break
        number[at] = tree.add(drafted.tokens[at], number[drafted.parents[at]])
    return tree
