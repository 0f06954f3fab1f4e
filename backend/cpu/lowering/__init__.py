"""From core IR to the LLVM dialect."""
