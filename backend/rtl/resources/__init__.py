"""What a design takes of a device, counted from the text of its modules in hw, comb and seq."""
