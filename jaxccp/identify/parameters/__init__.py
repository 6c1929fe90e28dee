"""Parameters to identify, by paths into a model."""
