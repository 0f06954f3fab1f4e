"""Networks of the tools that train them, through their export to QONNX."""
