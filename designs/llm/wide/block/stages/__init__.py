"""The stages of an accelerator that takes several tokens a step."""
