"""Memory of several processes of a region: who writes it, and who hands it over to whom."""
