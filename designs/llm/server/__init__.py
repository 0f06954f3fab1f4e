"""A server of language models on the wide accelerator, with OpenAI's protocol."""
