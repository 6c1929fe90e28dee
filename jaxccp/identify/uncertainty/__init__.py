"""Intervals of parameters, and what recordings do not tell."""
