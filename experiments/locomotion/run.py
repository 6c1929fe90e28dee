"""Compare falling robots with MuJoCo at its stiffest contacts, and measure them at rest.

    python -m experiments.locomotion.run

Float64, no controls. The models are those of gymnasium, if it is installed, and the quadruped of
examples/models. Writes results.md and paths.png beside this file.
"""

import importlib.util
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import jax

jax.config.update("jax_enable_x64", True)

import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from rich.progress import track  # noqa: E402

from experiments.locomotion import reference, report  # noqa: E402
from experiments.locomotion.landing import landings  # noqa: E402
from jaxccp import EulerImplicitLinearized, joint_motion, load, rollout  # noqa: E402
from jaxccp.ccp import Law  # noqa: E402
from jaxccp.collision.detect import detect  # noqa: E402
from jaxccp.io import Loaded  # noqa: E402

ROBOTS = ("hopper", "walker2d_v5", "half_cheetah", "ant", "humanoid", "quadruped")
SEED = 0
STATES = 3
"""Number of random initial states of each robot."""
DROP = (0.02, 0.2)
"""Range of the initial height of the lowest point [m]."""
DURATION = 1.0
EVERY = 2e-3
"""Time between records [s]."""
SETTINGS: tuple[tuple[Law, float], ...] = (("ccp", 2e-3), ("ccp", 5e-4), ("ncp", 5e-4))
"""Law and step [s] of jaxccp; motions are continued to rest with the first setting."""
STILL = 1e-6
"""Speed below which a robot is at rest [m/s]."""
ROUNDS = 60
"""Largest number of periods of DURATION for which a motion is continued to come to rest."""
LAST = 50
"""Records over which forces at rest are averaged."""
CAPACITY = 32
"""Largest number of simultaneous contacts."""
Starts = tuple[jax.Array, ...]
"""qpos and qvel of all states."""


def files() -> list[tuple[str, Path]]:
    """Return name and file of every robot that is installed."""
    spec = importlib.util.find_spec("gymnasium")
    folders = [] if spec is None else spec.submodule_search_locations or []
    folders = [Path(__file__).parents[2] / "examples" / "models", *map(Path, folders)]
    paths = (path for folder in folders for path in sorted(folder.rglob("*.xml")))
    available = {path.stem: path for path in paths if path.stem in ROBOTS}
    return [(stem.removesuffix("_v5"), available[stem]) for stem in ROBOTS if stem in available]


def centre(loaded: Loaded, position: jax.Array) -> jax.Array:
    """Return the centre of mass of all bodies, shape (3,) [m]."""
    free = jnp.asarray(loaded.model.topology.free)
    mass = jnp.where(free, loaded.model.bodies.mass, 0.0)
    return mass @ position / mass.sum()


def simulator(loaded: Loaded, law: Law, h: float) -> Callable:
    """Return a compiled function from the initial states to the measured motions.

    It returns the initial centres of mass, the measurements of all records and the reports of the
    stepper. States are simulated one after the other.

    Args:
        loaded: the robot.
        law: law of contact.
        h: length of a step [s].
    """
    model, stepper = loaded.model, EulerImplicitLinearized(h, law)

    def look(state):
        contacts = detect(model, state)
        return {
            "com": centre(loaded, state.position),
            "coordinates": loaded.layout.coordinates(model, state),
            "penetration": -jnp.min(jnp.where(contacts.live, contacts.gap, 0.0), initial=0.0),
            "joint error": jnp.max(jnp.abs(joint_motion(model, state).error)),
            "speed": jnp.max(jnp.abs(state.velocity)),
        }

    def simulate_state(start):
        state = loaded.layout.state(model, loaded.state, *start)
        steps = round(DURATION / h), round(EVERY / h)
        _, trajectory = rollout(model, state, stepper, steps[0], every=steps[1])
        measurements = jax.vmap(look)(trajectory.state)
        return look(state)["com"], measurements, trajectory.report

    return jax.jit(partial(jax.lax.map, simulate_state))


def fall(theirs: reference.Model, simulate: Callable, starts: Starts) -> report.Fall:
    """Simulate the falls from all initial states under jaxccp.

    Args:
        theirs: MuJoCo's model, which has the limits of the joints.
        simulate: function that ``simulator`` returns.
        starts: initial qpos and qvel of all states.
    """
    first, records, reports = jax.device_get(simulate(starts))
    motions = [
        reference.Motion(
            np.concatenate([first[k : k + 1], records["com"][k]]),
            float(records["penetration"][k].max()),
            reference.limit_violation(theirs, records["coordinates"][0][k]),
        )
        for k in range(STATES)
    ]
    return report.Fall(
        motions,
        float(records["joint error"].max()),
        float((reports.solver.status != 0).mean()),
        bool(reports.overflow.any()),
    )


def rest(loaded: Loaded, simulate: Callable, starts: Starts) -> report.Rest:
    """Continue the motions until all are at rest, and measure forces and speeds there.

    Args:
        loaded: the robot.
        simulate: function that ``simulator`` returns.
        starts: initial qpos and qvel of all states.
    """
    rounds, fastest = 0, np.inf
    while fastest > STILL and rounds < ROUNDS:
        _, records, reports = jax.device_get(simulate(starts))
        starts = tuple(part[:, -1] for part in records["coordinates"])
        rounds, fastest = rounds + 1, records["speed"][:, -LAST:].max()
    moving = np.asarray(loaded.model.topology.free)
    weight = -np.asarray(loaded.model.bodies.mass)[moving].sum() * loaded.model.gravity[2]
    carried = -reports.contact_wrenches[:, -LAST:, 0].mean(axis=1) / weight
    return report.Rest(
        DURATION * rounds,
        float(weight),
        carried[:, 2] - 1,
        np.hypot(carried[:, 0], carried[:, 1]),
        records["speed"][:, -1],
        records["penetration"][:, -1],
    )


def robot(name: str, path: Path) -> report.Robot:
    loaded = load(path, max_contacts=CAPACITY)
    rng = np.random.default_rng(SEED)
    stiffest = reference.compiled(path, reference.STIFF)
    states = reference.random_states(stiffest, rng, STATES, DROP)
    starts = tuple(jnp.asarray(np.stack(part)) for part in zip(*states, strict=True))
    theirs = {}
    for label, contact in reference.CONTACTS.items():
        model = reference.compiled(path, contact)
        theirs[label] = [reference.motion(model, *state, DURATION, EVERY) for state in states]
    simulators = {setting: simulator(loaded, *setting) for setting in SETTINGS}
    falls = {
        f"jaxccp {law}, {1e3 * h:g} ms": fall(stiffest, simulate, starts)
        for (law, h), simulate in simulators.items()
    }
    return report.Robot(name, theirs, falls, rest(loaded, simulators[SETTINGS[0]], starts))


def main() -> None:
    begin = time.perf_counter()
    robots = [robot(*entry) for entry in track(files(), description="robots")]
    report.write(robots, landings(), EVERY, reference.mujoco.__version__)
    print(f"{time.perf_counter() - begin:.0f} s")


if __name__ == "__main__":
    main()
