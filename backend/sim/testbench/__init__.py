"""Test benches in plain SystemVerilog, with the vectors of a recorded call."""
