"""Residuals of inverse dynamics."""
