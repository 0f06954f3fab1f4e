"""The back ends; each registers its targets by name in ``allo.target``."""
