"""Make the speaking model's tokenizer from its prose, and the prose's tokens.

scripts/python scripts/language_model/prepare.py out/speaker [--vocabulary 1536]
"""

from __future__ import annotations

import argparse
import json
import random
from pathlib import Path

import numpy as np

from allo.designs.llm.language.prose import load_prose, split_prose
from allo.designs.llm.language.tokenizer import Tokenizer


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--vocabulary", type=int, default=1536)
    parser.add_argument("--variants", type=int, default=8, help="spellings of the text to learn")
    parser.add_argument("--drop", type=float, default=0.1, help="merges left out in these")
    args = parser.parse_args()
    kept, held = split_prose(load_prose())
    tokenizer = Tokenizer.train(kept, args.vocabulary, special=())
    tokens = {
        name: np.array(tokenizer.encode(text, special=False), np.uint16)
        for name, text in (("train", kept), ("held", held))
    }
    for seed in range(args.variants):
        varied = encode_varied(tokenizer, kept, args.drop, seed)
        tokens[f"varied{seed}"] = np.array(varied, np.uint16)
    args.folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(args.folder / "tokenizer.json")
    np.savez_compressed(args.folder / "tokens.npz", **tokens)
    for name, text in (("train", kept), ("held", held)):
        count = len(tokens[name])
        print(f"{name}: {len(text)} characters, {count} tokens, {len(text) / count:.3f} each")


def encode_varied(
    tokenizer: Tokenizer, text: str, drop: float, seed: int, spellings: int = 16
) -> list[int]:
    """The tokens of a text in which every merge is left out with a probability of ``drop``.

    A model that is trained on several of these learns how its tokens are spelt (BPE-dropout,
    Provilkov, Emelianenko and Voita, 2020). The library ``tokenizers`` has it too, without a seed;
    training that can be repeated needs one.

    Args:
        tokenizer: one of byte pairs.
        spellings: ways to spell a word; each time it comes, it takes one of them by chance.
    """
    model = json.loads(tokenizer.whole.to_str())["model"]
    ranks = {tuple(pair): rank for rank, pair in enumerate(model["merges"])}
    rng = random.Random(seed)
    ways: dict[str, list[list[int]]] = {}
    found: list[int] = []
    for word, _ in tokenizer.whole.pre_tokenizer.pre_tokenize_str(text):
        if word not in ways:
            spelt = (_spelt(word, ranks, drop, rng) for _ in range(spellings))
            ways[word] = [[model["vocab"][symbol] for symbol in symbols] for symbols in spelt]
        found += rng.choice(ways[word])
    return found


def _spelt(
    word: str, ranks: dict[tuple[str, ...], int], drop: float, rng: random.Random
) -> list[str]:
    symbols = list(word)
    while True:
        ranked = [
            (ranks[pair], pair)
            for pair in zip(symbols, symbols[1:], strict=False)
            if pair in ranks and rng.random() >= drop
        ]
        if not ranked:
            return symbols
        symbols = _joined(symbols, min(ranked)[1])


def _joined(symbols: list[str], pair: tuple[str, ...]) -> list[str]:
    """The symbols with every occurrence of a pair, from the left, made one."""
    joined: list[str] = []
    rest = iter(range(len(symbols)))
    for at in rest:
        if tuple(symbols[at : at + 2]) == pair:
            joined.append("".join(pair))
            next(rest)
        else:
            joined.append(symbols[at])
    return joined


if __name__ == "__main__":
    main()
