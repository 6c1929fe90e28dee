"""Statics: equilibria of a model and small vibrations about them."""
