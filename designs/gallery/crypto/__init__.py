"""Hashes, checksums, ciphers and random bits."""
