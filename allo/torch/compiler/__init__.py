"""``torch.compile(model, backend="allo")``: graphs on Allo's builds, and in PyTorch where that fails."""
