"""Windows over pictures and boards."""
