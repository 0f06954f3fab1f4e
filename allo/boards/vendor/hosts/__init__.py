"""Programs for hosts of boards: projects get copies, which need nothing of Allo."""
