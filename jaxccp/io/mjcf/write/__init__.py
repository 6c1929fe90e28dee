"""Models written back as the files that they were loaded from."""
