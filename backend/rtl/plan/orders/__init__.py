"""Which accesses of a body keep which order, within an iteration and across iterations."""
