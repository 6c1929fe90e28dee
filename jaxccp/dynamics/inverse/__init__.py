"""Inverse dynamics, and inverse kinematics."""
