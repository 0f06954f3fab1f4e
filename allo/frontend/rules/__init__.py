"""The rules of scalar operations: their types, their values at compile time, packed and fixed-point forms."""
