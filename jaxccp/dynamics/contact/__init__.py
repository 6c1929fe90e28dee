"""Rows and impacts of contacts, and what reports say of them."""
