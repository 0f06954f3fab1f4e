"""Files of GGUF give the parameters of the folders that they were made from, or say what is wrong."""

from __future__ import annotations

from pathlib import Path

import gguf
import numpy as np
import pytest

from allo.designs.llm.checkpoints.files import CheckpointFileError
from allo.designs.llm.checkpoints.float_model import FloatModel
from allo.designs.llm.checkpoints.load import CheckpointShapeError, load_checkpoint
from allo.designs.llm.config import ConfigurationError
from allo.designs.llm.language.chat import ChatError, ChatTemplate
from allo.designs.llm.language.tokenizer import TokenizerError

from .gguf_files import CHAT, KINDS, TOKENS, tokenizer_entries, write_gguf

LLAMA = Path(__file__).parent / "oracles" / "llama"
USER = {"role": "user", "content": "the 12"}


@pytest.fixture(name="made", scope="module")
def made_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("gguf")
    return write_gguf(LLAMA, folder / "llama.gguf", extra=tokenizer_entries())


def test_a_file_computes_what_the_library_of_its_model_computes(made: Path) -> None:
    loaded, folder = load_checkpoint(made), load_checkpoint(LLAMA)
    assert {n: p.shape for n, p in loaded.params.items()} == folder.model.shapes()
    for name, value in folder.params.items():
        assert np.array_equal(loaded.params[name], value), name
    with np.load(LLAMA / "oracle.npz") as oracle:
        values = FloatModel(loaded.model, loaded.params).forward(oracle["tokens"])
        assert np.abs(values - oracle["values"]).max() < 2e-5


@pytest.mark.parametrize("kind", [kind for kind, how in KINDS.items() if how])
def test_blocks_are_taken_apart(tmp_path: Path, kind: str) -> None:
    loaded = load_checkpoint(write_gguf(LLAMA, tmp_path / "llama.gguf", kind))
    whole, how = load_checkpoint(LLAMA).params, KINDS[kind]
    for name in ("token", "0.v.w", "1.gate.w", "1.p.w", "head.w"):
        wanted = gguf.dequantize(gguf.quantize(whole[name], how), how)
        assert np.array_equal(loaded.params[name], wanted), name
    # Of these the rows of a head have changed places, and every row has blocks of its own.
    wanted = gguf.dequantize(gguf.quantize(whole["0.k.w"], how), how)
    assert np.array_equal(loaded.params["0.k.w"], wanted)


def test_factors_of_the_angles_are_those_of_llama_3(tmp_path: Path) -> None:
    plain = load_checkpoint(write_gguf(LLAMA, tmp_path / "plain.gguf")).model
    path = tmp_path / "stretched.gguf"
    factors = np.array([1.0, 2.0, 4.0, 8.0], np.float32)
    with_factors(path, factors)
    stretched = load_checkpoint(path).model
    assert np.allclose(np.array(plain.rotary) / factors, stretched.rotary, rtol=1e-12)


def with_factors(path: Path, factors: np.ndarray) -> None:
    write_gguf(LLAMA, path.with_suffix(".plain"))
    reader = gguf.GGUFReader(path.with_suffix(".plain"))
    writer = gguf.GGUFWriter(path, "llama")
    for name, field in reader.fields.items():
        if not name.startswith("GGUF.") and name != "general.architecture":
            writer.add_key_value(name, field.contents(), field.types[0])
    for tensor in reader.tensors:
        writer.add_tensor(tensor.name, np.array(tensor.data))
    writer.add_tensor("rope_freqs.weight", factors)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def test_the_tokenizer_of_a_file_cuts_digits_and_joins_pairs(made: Path) -> None:
    tokenizer, chat = load_checkpoint(made).tokenizer, load_checkpoint(made).chat
    assert tokenizer is not None and chat is not None
    assert chat == ChatTemplate(CHAT, TOKENS[1], TOKENS[2])
    text = chat.render([USER])
    assert text == "<|im_start|>user\nthe 12<|im_end|>\n<|im_start|>assistant\n"
    tokens = tokenizer.encode(text)
    assert tokens[0] == 1 and tokens.count(1) == 2 and tokens.count(2) == 1
    assert tokenizer.decode(tokens) == text
    spelled = [tokenizer.whole.id_to_token(t) for t in tokenizer.encode("the 12", special=False)]
    assert spelled == ["th", "e", "Ġ", "1", "2"]
    assert 1 not in tokenizer.encode("<|im_start|>", special=False)


@pytest.mark.parametrize(
    ("extra", "left_out", "arch", "error", "text"),
    [
        ({}, (), "falcon", ConfigurationError, "is of GGUF's architecture 'falcon'"),
        ({}, ("context_length",), "llama", ConfigurationError, "no entry 'llama.context_length'"),
        ({"llama.expert_count": 4}, (), "llama", ConfigurationError, "has 4 experts"),
        (
            {"llama.rope.scaling.type": "yarn"}, (), "llama", ConfigurationError,
            "are stretched by the kind 'yarn'",
        ),
        (
            tokenizer_entries("chameleon"), (), "llama", TokenizerError,
            "cuts texts in the way 'chameleon'",
        ),
        (
            {"tokenizer.ggml.model": "llama"}, (), "llama", TokenizerError,
            "is of GGUF's kind 'llama'",
        ),
    ],
)  # fmt: skip
def test_what_is_not_known_is_said(
    tmp_path: Path,
    extra: dict[str, object],
    left_out: tuple[str, ...],
    arch: str,
    error: type[Exception],
    text: str,
) -> None:
    path = write_gguf(LLAMA, tmp_path / "it.gguf", arch=arch, extra=extra, left_out=left_out)
    with pytest.raises(error, match=text):
        load_checkpoint(path)


def test_a_tensor_of_which_nothing_is_read_is_refused(tmp_path: Path) -> None:
    other = write_gguf(
        LLAMA, tmp_path / "it.gguf", extra={"llama.block_count": 1}, left_out=("block_count",)
    )
    with pytest.raises(CheckpointShapeError, match=r"from the tensor 'model\.layers\.1\."):
        load_checkpoint(other)


@pytest.mark.parametrize("kept", [0.1, 0.6, 0.95])
def test_a_cut_file_is_damaged(made: Path, tmp_path: Path, kept: float) -> None:
    raw = made.read_bytes()
    cut = tmp_path / "cut.gguf"
    cut.write_bytes(raw[: int(len(raw) * kept)])
    with pytest.raises(CheckpointFileError, match="is truncated or damaged"):
        load_checkpoint(cut)
    with pytest.raises(CheckpointFileError, match="There is no checkpoint file"):
        load_checkpoint(tmp_path / "none.gguf")


@pytest.mark.parametrize(
    ("messages", "text"),
    [
        ([], "A chat without a message"),
        ([{"role": "user"}], "Message 0 of the chat has the entries role"),
        ([{"role": "user", "text": "the"}], "Message 0 of the chat has the entries role, text"),
    ],
)
def test_a_chat_says_what_its_messages_lack(messages: list[dict[str, str]], text: str) -> None:
    with pytest.raises(ChatError, match=text):
        ChatTemplate(CHAT).render(messages)


def test_a_template_may_refuse_messages() -> None:
    strict = ChatTemplate("{{ raise_exception('only users speak') }}")
    with pytest.raises(ChatError, match="only users speak"):
        strict.render([USER])
