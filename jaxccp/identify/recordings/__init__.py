"""Recordings of motion, cut into segments with measured initial states."""
