"""The memories of a function: RAM banks, registers, tables, ports to memories outside."""
