"""Make the speaking model's tokenizer from its prose, and the prose's tokens.

scripts/python scripts/language_model/prepare.py out/speaker [--vocabulary 1536]
"""

from __future__ import annotations

import argparse
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
        name: np.array(tokenizer.encode(text), np.uint16)
        for name, text in (("train", kept), ("held", held))
    }
    for seed in range(args.variants):
        varied = tokenizer.encode_varied(kept, args.drop, seed)
        tokens[f"varied{seed}"] = np.array(varied, np.uint16)
    args.folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(args.folder / "tokenizer.json")
    np.savez_compressed(args.folder / "tokens.npz", **tokens)
    for name, text in (("train", kept), ("held", held)):
        count = len(tokens[name])
        print(f"{name}: {len(text)} characters, {count} tokens, {len(text) / count:.3f} each")


if __name__ == "__main__":
    main()
