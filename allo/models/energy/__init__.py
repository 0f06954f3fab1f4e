"""Energy of a run: the bits that change in simulation, and published energies of what changes."""
