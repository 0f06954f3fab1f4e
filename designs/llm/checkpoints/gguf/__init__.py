"""Models in files of GGUF: their entries as a ``config.json``, their tensors, their tokenizer."""
