"""Adapters of environments to the interfaces of other packages."""
