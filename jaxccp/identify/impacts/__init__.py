"""Residuals of single impacts."""
