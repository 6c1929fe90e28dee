"""Residuals of simulations."""
