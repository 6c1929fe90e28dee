"""Contacts of one pair of shapes, for each pair of kinds."""
