"""Checks of what users give: physical quantities, models and states."""
