"""Published energies, in picojoules; none of them is ours, and none was measured on a design of ours.

* A bit from HBM2 (O'Connor et al., "Fine-Grained DRAM", MICRO 2017).
* Sums, products and reads of an SRAM of 8 KB, as an ASIC of 45 nm (Horowitz, ISSCC 2014).
* The dynamic power of an FPGA over that of an ASIC of the same process (Kuon and Rose, TCAD 2007).

A sum of 32 bits changes half of its bits where operands are random, and so do a product of 8 by 8 bits and
a word that is read: what one bit that changes takes follows from these.
"""

from __future__ import annotations

HBM2_PJ_PER_BIT = 3.92
SUM_32_PJ, SUM_OF_MAC_PJ, PRODUCT_8_PJ = 0.1, 0.03, 0.2
READ_64_PJ = 10.0
FPGA_FACTOR = 14.0

NET_PJ = FPGA_FACTOR * SUM_32_PJ / 16
"""Of a bit of logic that changes, wires to what reads it included."""
PRODUCT_PJ = FPGA_FACTOR * PRODUCT_8_PJ / 8
"""Of a bit of a product that changes."""
READ_PJ = READ_64_PJ / 32
"""Of a bit at the port of a memory that changes; memories are blocks in an FPGA, too."""
