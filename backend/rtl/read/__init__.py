"""From core IR to the compiler's graph."""
