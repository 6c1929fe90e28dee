"""Exact elimination of equality rows: along trees of bodies in O(n), what closes loops densely."""
