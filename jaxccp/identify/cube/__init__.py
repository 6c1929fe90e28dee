"""The tossed cube: its model, its fit and its report."""
