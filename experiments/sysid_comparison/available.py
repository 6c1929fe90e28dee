"""Tell whether ``mujoco.sysid`` can be imported."""

import importlib


def has_mujoco_sysid() -> bool:
    """Return whether ``mujoco.sysid`` is there, complete with what its extra installs."""
    try:
        return hasattr(importlib.import_module("mujoco.sysid"), "optimize")
    except ImportError:
        return False
