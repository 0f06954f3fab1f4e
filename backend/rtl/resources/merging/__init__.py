"""What synthesis, which flattens a design, makes one of several modules and registers."""
