"""Build recordings of tosses from formulae, without the simulator."""

import numpy as np

from jaxccp.identify import Recording, recording

DT = 0.01
GRAVITY = np.array([0.0, 0.0, -9.81])


def toss(position: np.ndarray, quaternion: np.ndarray, name: str = "toss") -> Recording:
    """Return the recording of a cube's poses.

    Args:
        position: positions of the cube [m], one row per sample.
        quaternion: orientations of the cube, one row per sample.
        name: name of the recording.
    """
    pose = np.concatenate([position, quaternion], axis=1)
    time = DT * np.arange(len(pose))
    return recording(time, name, noise={"pose": 1e-4}, lever=0.0524, pose={"cube": pose})


def flights(lengths: tuple[int, ...], seed: int = 0) -> list[Recording]:
    """Return ballistic flights with constant spin."""
    random = np.random.default_rng(seed)
    out = []
    for number, length in enumerate(lengths):
        time = DT * np.arange(length)[:, None]
        start = random.normal(size=3) + np.array([0.0, 0.0, 50.0])
        throw = random.normal(size=3)
        spin = 3.0 * random.normal(size=3)
        position = start + throw * time + 0.5 * GRAVITY * time**2
        angle = np.linalg.norm(spin) * time
        axis = spin / np.linalg.norm(spin)
        quaternion = np.concatenate([np.cos(angle / 2), np.sin(angle / 2) * axis], axis=1)
        out.append(toss(position, quaternion, f"flights {number}"))
    return out


def slides(friction: float, speeds: tuple[float, ...], samples: int = 25) -> list[Recording]:
    """Return recordings of a cube of 0.1048 m that slides on the ground, slowed by friction, and
    does not stop.

    Args:
        friction: coefficient of friction.
        speeds: initial speed of each recording [m/s].
        samples: number of samples per recording.
    """
    out = []
    for heading, speed in enumerate(speeds):
        time = DT * np.arange(samples)[:, None]
        direction = np.array([np.cos(heading), np.sin(heading), 0.0])
        path = speed * time + 0.5 * friction * GRAVITY[2] * time**2
        assert np.all(np.diff(path[:, 0]) > 0)
        position = path * direction + np.array([0.0, 0.0, 0.0524])
        upright = np.broadcast_to([1.0, 0.0, 0.0, 0.0], (samples, 4))
        out.append(toss(position, upright, f"slides {heading}"))
    return out
