"""A plan of the wide accelerator for a model and a device: a search over its parameters."""
