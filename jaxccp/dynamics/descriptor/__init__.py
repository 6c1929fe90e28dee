"""The matrices and vectors of a step, described and assembled."""
