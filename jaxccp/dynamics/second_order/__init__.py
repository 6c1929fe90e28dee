"""Smooth motion in generalised coordinates, and impulses of contacts in steps of second order."""
