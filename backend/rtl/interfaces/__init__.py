"""Interfaces of boards: AXI4 masters, AXI4-Lite control and AXI4-Stream around a compiled design."""
