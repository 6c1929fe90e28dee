"""Residuals that compare recordings with simulations."""
