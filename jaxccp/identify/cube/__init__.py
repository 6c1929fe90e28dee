"""The recorded cube: its model, its fit and its page."""
