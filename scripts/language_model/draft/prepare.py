"""Make the folder that a draft head is trained from: a model's blocks, and prompts in its tokens.

    scripts/python scripts/language_model/draft/prepare.py out/draft        # the model, in parts, and prompts
    python3 scripts/language_model/draft/train.py out/draft                 # needs PyTorch and a GPU
    scripts/python scripts/language_model/draft/finish.py out/draft         # int8 weights into the tree

The model is SmolLM2-135M-Instruct from its package. Its prompts to learn from are of three kinds made here
(summaries, corrections and code) and of one that the model makes itself: what follows a user's mark
(Xu et al., "Magpie", ICLR 2025). Those that are measured on are in ``prompts.py`` and in neither.
"""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path

import gguf
import numpy as np
from prompts import CODE, MEASURED, TOPICS

from allo.designs.llm.checkpoints.load import load_checkpoint
from allo.designs.llm.checkpoints.packages import SMOLLM2, packaged
from allo.designs.llm.language.prose import load_prose, split_prose

PART_BYTES = 24_000_000
EACH = 2048
SEED = 7


def write_blocks(model: Path, folder: Path) -> None:
    """The tensors of a file of GGUF as their blocks' bytes, in parts that travel."""
    whole = bytearray()
    index = []
    for tensor in gguf.GGUFReader(model).tensors:
        data = np.ascontiguousarray(tensor.data).tobytes()
        shape = [int(size) for size in tensor.shape[::-1]]
        index.append([tensor.name, tensor.tensor_type.name, shape, len(whole), len(data)])
        whole += data
    (folder / "index.json").write_text(json.dumps(index))
    for part, start in enumerate(range(0, len(whole), PART_BYTES)):
        (folder / f"blocks-{part}.bin").write_bytes(whole[start : start + PART_BYTES])


def passages(count: int, draw: random.Random) -> list[str]:
    """Sentences of the repository's prose, 300 to 700 characters together."""
    text = split_prose(load_prose())[0]
    found = []
    while len(found) < count:
        start = text.find(". ", draw.randrange(len(text) - 2000)) + 2
        end = text.find(". ", start + draw.randrange(300, 700)) + 1
        found.append(" ".join(text[start:end].split()))
    return found


def misspelt(text: str, draw: random.Random) -> str:
    """A passage with a fifteenth of its longer words misspelt."""
    words = text.split()
    for at, word in enumerate(words):
        if len(word) > 3 and draw.random() < 0.15:
            place = draw.randrange(1, len(word) - 1)
            swapped = word[: place - 1] + word[place] + word[place - 1] + word[place + 1 :]
            words[at] = draw.choice((swapped, word[:place] + word[place + 1 :]))
    return " ".join(words)


def made(draw: random.Random) -> list[str]:
    """What users ask: summaries and corrections of passages, and code."""
    summaries = [f"Summarize the following text.\n\n{text}" for text in passages(EACH, draw)]
    wrong = [misspelt(text, draw) for text in passages(EACH, draw)]
    corrections = [f"Correct the spelling mistakes in this text.\n\n{text}" for text in wrong]
    code = [
        f"{draw.choice(CODE)} {draw.choice(TOPICS)}{draw.choice(('.', ', with comments.', '. Be brief.'))}"
        for _ in range(EACH // 2)
    ]
    return [*summaries, *corrections, *code]


def main() -> int:
    """Write blocks, prompts and the shape."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    model = packaged(SMOLLM2)
    loaded = load_checkpoint(model)
    assert loaded.tokenizer is not None and loaded.chat is not None
    write_blocks(model, folder)

    def asked(text: str) -> list[int]:
        return loaded.tokenizer.encode(loaded.chat.render([{"role": "user", "content": text}]))

    whole = loaded.chat.render([{"role": "user", "content": "?"}])
    shape = loaded.model
    told = {
        "layers": shape.layers, "d": shape.d, "heads": shape.heads, "kv_heads": shape.kv_heads,
        "ffn": shape.ffn, "vocab": shape.vocab, "eps": shape.eps, "rotary": shape.rotary,
        "user": loaded.tokenizer.encode(whole.split("?")[0]),
        "answer": loaded.tokenizer.encode(whole.rpartition("?")[2]),
        "end": list(loaded.ends)[0],
        "prompts": [asked(text) for text in made(random.Random(SEED))],
        "measured": {kind: [asked(text) for text in texts] for kind, texts in MEASURED.items()},
    }  # fmt: skip
    (folder / "draft.json").write_text(json.dumps(told))
    return 0


if __name__ == "__main__":
    sys.exit(main())
