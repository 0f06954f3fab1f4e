"""Keys and values of the wide accelerator in external memory, and the bytes that a step moves."""
