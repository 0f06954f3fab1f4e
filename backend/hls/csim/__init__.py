"""Simulation of the emitted C++ without a vendor's tools."""
