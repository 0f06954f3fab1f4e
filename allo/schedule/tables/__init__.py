"""Nests over few bits as lookup tables, for ``tabulate``."""
