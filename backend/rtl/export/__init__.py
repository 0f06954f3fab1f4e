"""The Verilog that CIRCT writes, made readable: names, comments, marks for what is not read."""
