"""Model files: their sources, included files, packages and XML."""
