"""Put the trained weights into the tree: int8, in Hugging Face's layout, with calibrated scales.

    scripts/python scripts/language_model/finish.py out/speaker

Reads ``float-*.npz``, ``training.json``, ``tokenizer.json`` and ``tokens.npz``. Every matrix becomes int8
with one scale for each output, and the rest stays float32. Prints perplexity on held-out prose of the
float weights, the int8 weights, W8A8 and W4A8, and writes it to ``training.json``.
"""

from __future__ import annotations

import argparse
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np

from allo.designs.llm.checkpoints.files import write_tensors
from allo.designs.llm.checkpoints.float_model import Params
from allo.designs.llm.checkpoints.load import SCALE, Checkpoint, load_checkpoint
from allo.designs.llm.checkpoints.quantize import calibrate, quantize, quantize_rows
from allo.designs.llm.language.speaker import FOLDER, float_perplexity, integer_perplexity

CALIBRATION_WINDOWS = 48
WINDOWS_AT_ONCE = 8


def configuration(options: dict[str, Any]) -> dict[str, Any]:
    """The ``config.json`` of a model trained with these options."""
    return {
        "model_type": "gpt2",
        "architectures": ["GPT2LMHeadModel"],
        "n_layer": options["layers"],
        "n_head": options["heads"],
        "n_embd": options["d"],
        "n_inner": options["ffn"],
        "n_positions": options["context"],
        "vocab_size": options["vocab"],
        "activation_function": "gelu_new",
        "layer_norm_epsilon": 1e-5,
        "tie_word_embeddings": True,
    }


def int8_tensors(tensors: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The tensors with every matrix but that of positions as int8 and scales."""
    found: dict[str, np.ndarray] = {}
    for name, value in tensors.items():
        if value.ndim < 2 or "wpe" in name:
            found[name] = value.astype(np.float32)
            continue
        by_output = value.astype(np.float64) if "wte" in name else value.T.astype(np.float64)
        rows, scale = quantize_rows(by_output)
        found[name] = rows if "wte" in name else np.ascontiguousarray(rows.T)
        found[name + SCALE] = scale.astype(np.float32)
    return found


def write_folder(
    folder: Path, tensors: dict[str, np.ndarray], config: dict[str, Any], tokenizer: Path
) -> Checkpoint:
    """Write a checkpoint's folder and load it."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config, indent=1) + "\n")
    shutil.copyfile(tokenizer, folder / "tokenizer.json")
    write_tensors(folder / "model.safetensors", tensors, {"format": "pt"})
    return load_checkpoint(folder)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--out", type=Path, default=FOLDER)
    parser.add_argument("--held", type=int, default=48_000, help="held-out tokens to measure on")
    args = parser.parse_args()
    tensors: dict[str, np.ndarray] = {}
    for part in sorted(args.folder.glob("float-*.npz")):
        with np.load(part) as stored:
            tensors |= {name: stored[name] for name in stored.files}
    training = json.loads((args.folder / "training.json").read_text())
    tokens = np.load(args.folder / "tokens.npz")
    train, held = (tokens[name].astype(np.int32) for name in ("train", "held"))
    config = configuration(training["options"])
    files = (config, args.folder / "tokenizer.json")
    exact = write_folder(
        args.folder / "float", {k: v.astype(np.float32) for k, v in tensors.items()}, *files
    )
    small = write_folder(args.out, int8_tensors(tensors), *files)
    context = small.model.context
    starts = np.linspace(0, len(train) - context, CALIBRATION_WINDOWS).astype(int)
    rows = train[starts[:, None] + np.arange(context)]
    batches = [rows[i : i + WINDOWS_AT_ONCE] for i in range(0, len(rows), WINDOWS_AT_ONCE)]
    scales = {
        k: float(np.float32(v)) for k, v in calibrate(small.model, small.params, batches).items()
    }
    config["quantization_config"] = {
        "quant_method": "allo",
        "weight_bits": 8,
        "activation_bits": 8,
        "activation_scales": scales,
    }
    small = write_folder(args.out, int8_tensors(tensors), *files)
    w8a8 = quantize(small.model, small.params, scales)
    w4a8 = quantize(small.model, exact.params, scales, weight_bits=4)
    held = held[: args.held]

    def of_float(params: Params) -> float:
        return float_perplexity(w8a8, params, held)

    training["perplexity"] = found = {
        "held_out_tokens": len(held),
        "float": of_float(exact.params),
        "int8 weights": of_float(small.params),
        "W8A8": integer_perplexity(w8a8, held),
        "W4A8": integer_perplexity(w4a8, held),
    }
    (args.out / "training.json").write_text(json.dumps(training, indent=1) + "\n")
    for name, value in found.items():
        print(f"{name}: {value:.4f}" if isinstance(value, float) else f"{name}: {value}")
    print(*(f"{p.name} {p.stat().st_size}" for p in sorted(args.out.iterdir())), sep="\n")


if __name__ == "__main__":
    main()
