"""What is written of a fit: page, JSON and the identified model."""
