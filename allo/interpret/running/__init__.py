"""What interpreted programs use while they run: arrays, formats, FIFOs, the Python boundary."""
