"""The operators themselves, one family a file."""
