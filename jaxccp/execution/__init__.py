"""Compiled calls, batches of copies, several devices, and functions for pytrees."""
