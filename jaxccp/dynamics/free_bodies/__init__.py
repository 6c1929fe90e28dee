"""Bodies with six velocities each, their masses in no common matrix; joints between them are rows,
solved along trees in O(n)."""
