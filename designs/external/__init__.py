"""Designs whose arrays do not fit on chip: they lie in channels of a card's memory, and pass by bursts."""
