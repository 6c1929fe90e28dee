"""Minimisation of residuals, and errors of prediction on other recordings."""
