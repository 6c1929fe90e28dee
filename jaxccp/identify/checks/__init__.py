"""Checks of recordings against a model, before anything is fitted."""
