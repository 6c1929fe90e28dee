"""Mechanisms in reduced coordinates: joints give degrees of freedom in place of equality rows."""
