"""Intervals of parameters, and combinations that recordings do not determine."""
