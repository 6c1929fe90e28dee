"""Parameters that are identified, by paths into a model."""
