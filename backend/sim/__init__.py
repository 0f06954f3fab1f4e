"""Run compiled hardware designs on NumPy arrays, and the ``verilog`` target."""
