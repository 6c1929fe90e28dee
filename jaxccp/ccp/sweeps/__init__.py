"""Gauss–Seidel over the row blocks, in the order of the problem or colour by colour."""
