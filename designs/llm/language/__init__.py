"""A language model that speaks English: tokenizer, prose, sampling, and the trained network."""
