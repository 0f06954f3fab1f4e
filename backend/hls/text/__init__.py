"""Pieces of C++ text: types, literals, index expressions, lines."""
