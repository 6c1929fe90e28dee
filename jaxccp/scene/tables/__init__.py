"""The numbers that a builder has collected, as the arrays of a model."""
