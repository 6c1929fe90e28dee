"""Actuators: their forces, and activations between controls and forces."""
