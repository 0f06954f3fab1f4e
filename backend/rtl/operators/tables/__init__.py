"""How late the bits of a value are once logic is packed into lookup tables."""
