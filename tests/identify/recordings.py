"""Recordings made by hand, without the simulator."""

import numpy as np

from jaxccp.io.tosses import Tosses

DT = 0.01
GRAVITY = np.array([0.0, 0.0, -9.81])


def flights(lengths: tuple[int, ...], seed: int = 0) -> Tosses:
    """Ballistic flights with constant spin, poses exact, velocities backward differences."""
    random = np.random.default_rng(seed)
    parts = []
    for length in lengths:
        time = DT * np.arange(length)[:, None]
        start = random.normal(size=3) + np.array([0.0, 0.0, 50.0])
        throw = random.normal(size=3)
        spin = 3.0 * random.normal(size=3)
        position = start + throw * time + 0.5 * GRAVITY * time**2
        angle = np.linalg.norm(spin) * time
        axis = spin / np.linalg.norm(spin)
        quaternion = np.concatenate([np.cos(angle / 2), np.sin(angle / 2) * axis], axis=1)
        velocity = np.diff(position, axis=0, prepend=position[:1]) / DT
        parts.append((position, quaternion, velocity, np.broadcast_to(spin, position.shape)))
    position, quaternion, velocity, spin = map(np.concatenate, zip(*parts, strict=True))
    ids, counts = np.arange(len(lengths)) + 10, np.array(lengths)
    return Tosses(ids, counts, position, quaternion, velocity, spin, DT)


def slides(friction: float, speeds: tuple[float, ...], mean: bool, samples: int = 25) -> Tosses:
    """A cube of 0.1048 m that never leaves the ground, slowed by friction; it does not stop.

    Velocities are the mean over the interval before, or those of the moment."""
    parts = []
    for heading, speed in enumerate(speeds):
        time = DT * np.arange(samples)[:, None]
        way = np.array([np.cos(heading), np.sin(heading), 0.0])
        path = speed * time + 0.5 * friction * GRAVITY[2] * time**2
        assert np.all(np.diff(path[:, 0]) > 0)
        position = path * way + np.array([0.0, 0.0, 0.0524])
        velocity = (speed + friction * GRAVITY[2] * time) * way
        if mean:
            velocity = np.diff(position, axis=0, prepend=position[:1]) / DT
        upright = np.broadcast_to([1.0, 0.0, 0.0, 0.0], (samples, 4))
        parts.append((position, upright, velocity, np.zeros_like(position)))
    position, quaternion, velocity, spin = map(np.concatenate, zip(*parts, strict=True))
    ids, counts = np.arange(len(speeds)), np.full(len(speeds), samples)
    return Tosses(ids, counts, position, quaternion, velocity, spin, DT)
