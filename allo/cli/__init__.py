"""TODO: written by the part that owns it."""
