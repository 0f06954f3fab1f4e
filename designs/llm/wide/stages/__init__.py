"""The stages of an accelerator that takes one token a step, alone or as one of several devices."""
