"""A scheduled and bound function as text of CIRCT's hw, comb and seq dialects."""
