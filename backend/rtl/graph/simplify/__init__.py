"""The operations of a function made fewer and narrower, before they are scheduled."""
