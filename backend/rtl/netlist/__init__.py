"""A design as operations of CIRCT's ``hw``, ``comb`` and ``seq`` dialects: what emitters make, passes change,
the estimate reads and the printer writes."""
