"""Complete accelerators, written with public names only."""
