"""Quaternions, guarded norms and tangent frames; knows nothing of bodies or contacts."""
