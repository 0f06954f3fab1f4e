"""The primitives, one verb a file."""
