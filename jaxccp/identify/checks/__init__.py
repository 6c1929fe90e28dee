"""Checks of recordings against a model, before a fit."""
