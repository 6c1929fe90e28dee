"""Reports of fits: a page, JSON and the identified model."""
