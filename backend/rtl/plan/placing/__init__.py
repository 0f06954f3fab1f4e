"""Where the nodes of a body start: the earliest cycles that operands, orders, ports and units allow."""
