"""Define four motions with closed-form outcomes, and the scene of each for every engine."""

from collections.abc import Callable
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from jaxccp import Box, Material, Model, ModelBuilder, Plane, Sphere, State

G, R = 9.81, 0.1
BOUNCE = 0.8
"""Coefficient of restitution of the falling ball."""
OMEGA = 316.0
"""Angular frequency of contacts in engines with soft contacts [rad/s]; an impact lasts
π / OMEGA."""


@dataclass(frozen=True)
class Problem:
    """A motion whose outcomes are a function of a few parameters.

    The parameters are initial positions and velocities, in the order that ``coordinates`` takes,
    then the coefficient of friction if there is friction.
    """

    name: str
    parameters: dict[str, float]
    outcomes: tuple[str, ...]
    exact: Callable[[jax.Array], jax.Array]
    """Closed form of the outcomes, from the parameters."""
    h: float
    seconds: float
    build: Callable[[], tuple[Model, State]]
    geoms: str
    """Plane and bodies of the same scene in MJCF."""
    restitution: float | None = None
    gravity: float = G

    @property
    def steps(self) -> int:
        return round(self.seconds / self.h)

    @property
    def values(self) -> np.ndarray:
        return np.array(list(self.parameters.values()))

    @property
    def xml(self) -> str:
        """Return the scene in MJCF, for the engines of MuJoCo and Brax.

        Restitution is that of a damped spring: MuJoCo and Brax generalized have no other. It is
        also given as Brax's elasticity.
        """
        soft = geom = ""
        if self.restitution is not None:
            ratio = max(1e-3, -np.log(self.restitution) / np.hypot(np.pi, np.log(self.restitution)))
            soft = f' solref="{1 / (OMEGA * ratio)} {ratio}" solimp="0.99 0.99 0.001"'
            names = "".join(
                f'<element objtype="geom" objname="g{i}" prm="{self.restitution}"/>'
                for i in range(self.geoms.count("<geom"))
            )
            geom = f'<custom><tuple name="elasticity">{names}</tuple></custom>'
        return (
            f'<mujoco><option timestep="{self.h}" gravity="0 0 {-self.gravity}"/>'
            f"<default><geom{soft}/></default>{geom}<worldbody>{self.geoms}</worldbody></mujoco>"
        )


def _plane(solid: str) -> str:
    return f'<geom name="g0" type="plane" size="9 9 1"/><body><freejoint/>{solid}</body>'


def _on_plane(shape: Box | Sphere, z: float, e: float = 0.0, contacts: int = 1):
    def build() -> tuple[Model, State]:
        builder = ModelBuilder(gravity=(0, 0, -G))
        builder.add_shape(0, Plane(), material=Material(restitution=e))
        builder.add_solid(shape, 1.0, Material(restitution=e), position=(0, 0, z))
        return builder.build(max_contacts=contacts)

    return build


def _two_balls() -> tuple[Model, State]:
    builder = ModelBuilder(gravity=(0, 0, 0))
    for _ in range(2):
        builder.add_solid(Sphere(R), 1.0, Material(friction=0.0, restitution=1.0))
    return builder.build(max_contacts=1)


def _slide(x: jax.Array) -> jax.Array:
    speed, friction = x
    return jnp.stack([speed**2 / (2 * friction * G)])


def _bounce(x: jax.Array) -> jax.Array:
    falls = jnp.sqrt(2 * (x[0] - R) / G)
    left, leaves = 0.6 - falls, BOUNCE * G * falls
    return jnp.stack([R + leaves * left - G * left**2 / 2, leaves - G * left])


def _roll(x: jax.Array) -> jax.Array:
    """Return distance and spin of a ball that slides for 2 v / (7 μ g), then rolls at 5/7 v."""
    speed, friction = x
    distance = 5 / 7 * speed * 0.6 + 2 * speed**2 / (49 * friction * G)
    return jnp.stack([distance, 5 / 7 * speed / R])


def _collision(x: jax.Array) -> jax.Array:
    """Return the final x of the second of two equal balls: a diameter past the first's free end."""
    return jnp.stack([x[0] + 2 * R + x[2] * 1.0])


BALL = f'<geom name="g1" type="sphere" size="{R}" mass="1"/>'
PROBLEMS = (
    Problem(
        "slide",
        {"v": 1.0, "μ": 0.5},
        ("x",),
        _slide,
        2e-3,
        0.3,
        _on_plane(Box((0.1, 0.1, 0.05)), 0.05, contacts=4),
        _plane('<geom name="g1" type="box" size="0.1 0.1 0.05" mass="1"/>'),
    ),
    Problem(
        "bounce",
        {"h": 0.5},
        ("z", "v"),
        _bounce,
        1e-3,
        0.6,
        _on_plane(Sphere(R), 0.5, BOUNCE),
        _plane(BALL),
        BOUNCE,
    ),
    Problem(
        "roll",
        {"v": 1.0, "μ": 0.3},
        ("x", "ω"),
        _roll,
        2e-3,
        0.6,
        _on_plane(Sphere(R), R),
        _plane(BALL),
    ),
    Problem(
        "collision",
        {"x₁": -0.507, "x₂": 0.0, "v₁": 2.0, "v₂": 0.0},
        ("x₂",),
        _collision,
        1e-3,
        1.0,
        _two_balls,
        f"<body><freejoint/>{BALL.replace('g1', 'g0')}</body><body><freejoint/>{BALL}</body>",
        1.0,
        0.0,
    ),
)


def coordinates(name: str, x: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return the initial positions and velocities of the bodies, each of shape (bodies, 3)."""
    zero = jnp.zeros_like(x[0])
    if name == "collision":
        place, speed = x[:2], x[2:]
        rest = jnp.zeros((2, 2), x.dtype)
        return jnp.column_stack([place, rest]), jnp.column_stack([speed, rest])
    if name == "bounce":
        return jnp.stack([zero, zero, x[0]])[None], jnp.zeros((1, 3), x.dtype)
    height = zero + (0.05 if name == "slide" else R)
    return jnp.stack([zero, zero, height])[None], jnp.stack([x[0], zero, zero])[None]


def outcome(name: str, position: jax.Array, velocity: jax.Array, spin: jax.Array) -> jax.Array:
    """Return the outcomes of a problem, which are quantities of its last body.

    Args:
        name: name of the problem.
        position: final positions of the bodies, shape (bodies, 3) [m].
        velocity: final velocities [m/s].
        spin: final angular velocities [rad/s].
    """
    if name == "bounce":
        return jnp.stack([position[-1, 2], velocity[-1, 2]])
    if name == "roll":
        return jnp.stack([position[-1, 0], spin[-1, 1]])
    return position[-1, :1]
