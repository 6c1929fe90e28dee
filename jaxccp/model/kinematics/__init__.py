"""Trees of joints: their degrees of freedom, coordinates, rates and motion."""
