"""A small head that foretells what a language model says next, for several tokens a step."""
