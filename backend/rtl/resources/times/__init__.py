"""How long signals take: through cells, and through logic as the flattest tables."""
