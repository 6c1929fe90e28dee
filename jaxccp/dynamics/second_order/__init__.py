"""Smooth motion on generalised coordinates, and what contacts do to it in steps of second order."""
