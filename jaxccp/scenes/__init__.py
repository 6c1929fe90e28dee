"""Built-in scenes, by name."""
