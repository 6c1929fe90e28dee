"""Recordings of motion, cut into segments with their measured starts."""
