"""Points of shapes in their frames: a box's corners and faces, the rim of a cylinder."""

import numpy as np

CORNERS = np.array([[(i >> k & 1) * 2 - 1 for k in range(3)] for i in range(8)])
"""Signs of a box's corners: corner i has +1 on axis k where bit k of i is set."""

_FACES = ((1, 3, 7, 5), (0, 4, 6, 2), (2, 6, 7, 3), (0, 1, 5, 4), (4, 5, 7, 6), (0, 2, 3, 1))
BOX_FACES = np.array(_FACES, np.int32)
"""Corners of a box's faces, counter-clockwise seen from outside."""

_ANGLES = np.arange(6) * np.pi / 3
RIM = np.stack([np.cos(_ANGLES), np.sin(_ANGLES), 0 * _ANGLES], axis=1)
"""Points that represent the rim of a cylinder's cap, fixed to it. If they moved with the tilt
instead, their derivative would be unbounded at an upright cylinder."""
