"""How programs run: compiled calls, batches of copies, several devices; functions for pytrees."""
