"""Flexible bodies of a model file."""
