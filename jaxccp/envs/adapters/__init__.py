"""Environments as other packages want them."""
