"""Arguments as the outside of a design sees them: arrays that are streams, arrays written whole."""
