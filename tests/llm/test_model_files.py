"""Weight files, the corpus and the layout of the accelerator's memories."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from allo.designs.llm.config import GPTConfig
from allo.designs.llm.layout import ParallelismError, jobs_of, weight_words
from allo.designs.llm.network import corpus
from allo.designs.llm.network.train import DATA
from allo.designs.llm.network.weights import WeightFileError, load_weights, save_weights

SHIPPED = DATA / "char_gpt_w8a8.npz"


def test_shipped_weights_are_complete_and_small():
    weights = load_weights(SHIPPED)
    assert weights.config == GPTConfig(layers=2, d=64, heads=4, ffn=256, context=128, vocab=32)
    assert sum(p.stat().st_size for p in DATA.iterdir()) < 1_000_000


def test_weights_survive_a_round_trip(tmp_path: Path):
    weights = load_weights(SHIPPED)
    save_weights(tmp_path / "w.npz", weights)
    again = load_weights(tmp_path / "w.npz")
    assert again.arrays.keys() == weights.arrays.keys()
    assert all(np.array_equal(again.arrays[k], v) for k, v in weights.arrays.items())


@pytest.mark.parametrize("keep", [0, 100, 5_000, 150_000])
def test_a_truncated_file_is_refused(tmp_path: Path, keep: int):
    path = tmp_path / "w.npz"
    path.write_bytes(SHIPPED.read_bytes()[:keep])
    with pytest.raises(
        WeightFileError, match=r"is truncated or damaged .*\n?.*help: make the file"
    ):
        load_weights(path)


def test_a_missing_file_is_refused(tmp_path: Path):
    with pytest.raises(WeightFileError, match="There is no weight file"):
        load_weights(tmp_path / "none.npz")


def test_an_array_of_the_wrong_shape_is_named(tmp_path: Path):
    weights = load_weights(SHIPPED)
    weights.arrays["1.f1.w"] = weights.arrays["1.f1.w"][:, :60]
    save_weights(tmp_path / "w.npz", weights)
    with pytest.raises(WeightFileError) as error:
        load_weights(tmp_path / "w.npz")
    assert str(error.value).startswith(
        f"Array '1.f1.w' of {tmp_path / 'w.npz'} is int8[256, 60], "
        "but the configuration asks for int8[256, 64]."
    )


def test_missing_and_unexpected_arrays_are_named(tmp_path: Path):
    weights = load_weights(SHIPPED)
    weights.arrays["extra"] = weights.arrays.pop("0.q.s")
    save_weights(tmp_path / "w.npz", weights)
    with pytest.raises(WeightFileError, match=r"missing \['0.q.s'\], unexpected \['extra'\]"):
        load_weights(tmp_path / "w.npz")


def test_the_corpus_is_deterministic_and_encodes_both_ways():
    text = corpus.make_text(2_000, 3)
    assert text == corpus.make_text(2_000, 3) != corpus.make_text(2_000, 4)
    assert corpus.decode(corpus.encode(text)) == text
    with pytest.raises(ValueError, match=r"characters the model does not know: \['X'\]"):
        corpus.encode("Xavier")


@pytest.mark.parametrize("lanes", [1, 4, 16])
def test_streamed_words_hold_every_weight_in_order(lanes: int):
    weights = load_weights(SHIPPED)
    words = iter(weight_words(weights, lanes))
    for job in jobs_of(weights.config):
        matrix = np.concatenate([weights.arrays[n + ".w"] for n in job.names])
        for tile in range(0, job.outputs, lanes):
            for k in range(job.depth):
                raw = next(words).to_bytes(lanes, "little")
                assert (
                    np.frombuffer(raw, np.int8).tolist() == matrix[tile : tile + lanes, k].tolist()
                )
    assert next(words, None) is None


def test_lanes_that_do_not_divide_are_refused():
    with pytest.raises(ParallelismError) as error:
        weight_words(load_weights(SHIPPED), 12)
    assert str(error.value) == (
        "12 lanes do not divide the 64 outputs of 0.p.\n"
        "help: the nearest parallelism that divides every layer is 8."
    )
