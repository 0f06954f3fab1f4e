"""The analytical model: when an FPGA beats a GPU."""
