"""The wide accelerator for blocks of tokens: a weight is read once and used for all tokens of a block."""
