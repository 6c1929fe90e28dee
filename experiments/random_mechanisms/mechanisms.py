"""Random mechanisms with known parameters, and noisy recordings of their motion."""

import importlib
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import jaxccp
from jaxccp.ccp.solve import Stop
from jaxccp.dynamics.steppers.euler import EulerImplicitLinearized
from jaxccp.identify import Parameter, recording
from jaxccp.identify.recordings.recording import Recording

mujoco: Any = importlib.import_module("mujoco")  # its names come from a binary

SAMPLE = 0.01
"""Time between samples [s]."""
SAMPLES, SEQUENCES = 50, 20
NOISE = 1e-3
"""Standard deviation of recorded joint positions [m, rad]."""
FINE = {False: 2.5e-4, True: 1e-5}
"""Step of the simulations that are recorded, in the air and with contact [s]."""
STEPS = (1e-3, 2e-4)
"""Steps of the fit's simulations, one after the other [s]."""
GRAVITY = 9.81
NARROW = 1e-4
"""Standard deviation of the priors of redundant parameters."""

LINK = """<body name="{name}" pos="{place}">
<joint name="{joint}" type="{kind}" axis="{axis}" damping="{damping}" armature="{armature}"
 stiffness="{stiffness}" frictionloss="{dry}"/>
<geom type="capsule" fromto="0 0 0 {end}" size="0.02" mass="{mass}" contype="0" conaffinity="0"/>"""
SKATE = """<body name="rail" pos="0 0 0.05">
<joint name="along" type="slide" axis="1 0 0" damping="0.5"/>
<inertial pos="0 0 0" mass="0.1" diaginertia="1e-4 1e-4 1e-4"/>
<body name="skate"><joint name="up" type="slide" axis="0 0 1"/>
<geom name="foot" type="sphere" size="0.05" mass="{mass}" friction="{friction}"/>"""
FLOOR = '<geom name="floor" type="plane" size="5 5 1" friction="0"/>'


@dataclass(frozen=True)
class Mechanism:
    """A mechanism, and what is identified of it."""

    xml: str
    true: dict[str, float]
    """True value of each parameter by path."""
    joints: tuple[str, ...]
    contact: bool
    seed: int

    @property
    def h(self) -> float:
        """Return the step of the simulation that is recorded [s]."""
        return FINE[self.contact]

    @property
    def every(self) -> int:
        """Return the number of these steps from sample to sample."""
        return round(SAMPLE / self.h)

    def parameters(self) -> list[Parameter]:
        """Return the parameters, from initial values that are up to 25 % off."""
        random = np.random.default_rng([self.seed, 1])
        return [
            Parameter(path, initial=value * random.uniform(0.75, 1.25), lower=0.0)
            for path, value in self.true.items()
        ]

    def redundant(self) -> tuple[list[Parameter], tuple[str, ...]]:
        """Return parameters that no motion of the mechanism can tell, with narrow priors about
        their true values, and words that have to name them: the friction of a floor that is below
        the foot's, else gear and scale of a control."""
        if self.contact:
            floor = Parameter('shapes["floor"].friction', initial=0.01, prior=NARROW, scale=0.1)
            return [floor], ("floor", "not determined")
        joint = self.joints[-1]
        gear, scale = f'actuators["{joint}"].gear', f'channels["control*{joint}*"].scale'
        paths = (gear, scale) if gear not in self.true else (scale,)
        words = f'actuators["{joint}"]', "channels", "determined only as a"
        return [Parameter(path, prior=NARROW, scale=0.1) for path in paths], words


def mechanism(seed: int) -> Mechanism:
    """Return a random chain of one or two links: for even seeds in the air, for odd ones with dry
    friction in its joints, on a skate that slides along a floor and hops.

    Args:
        seed: of all choices.
    """
    random = np.random.default_rng(seed)
    contact = bool(seed % 2)
    true: dict[str, float] = {}
    joints: list[str] = []
    head, motors, end = "", "", np.array([0.0, 0.0, 0.05 if contact else 0.5])

    def numbers(low: float, high: float) -> float:
        return round(float(random.uniform(low, high)), 4)

    if contact:
        skate = {"mass": numbers(0.8, 2.0), "friction": numbers(0.1, 0.4)}
        head = SKATE.format(**skate)
        true['bodies["skate"].mass'] = skate["mass"]
        true['shapes["foot"].friction'] = skate["friction"]
        joints += ["along", "up"]
        motors = '<motor name="along" joint="along"/><motor name="up" joint="up"/>'
    for k in range(int(random.integers(1, 3))):
        slides = random.random() < 0.25
        axis, way = random.normal(size=(2, 3))
        known = {
            "damping": numbers(0.05, 0.3),
            "armature": numbers(0.005, 0.05),
            "stiffness": numbers(20, 60) if slides else numbers(0.5, 2.0),
            "dry": numbers(0.05, 0.2) if contact else 0.0,
        }
        joint, gear = f"joint{k}", numbers(0.5, 2.0) * (5 if slides else 1)
        place, end = end, numbers(0.15, 0.35) * way / np.linalg.norm(way)
        head += LINK.format(
            name=f"link{k}",
            joint=joint,
            kind="slide" if slides else "hinge",
            place=words(place),
            end=words(end),
            axis=words(axis / np.linalg.norm(axis)),
            mass=(mass := numbers(0.3, 1.5)),
            **known,
        )
        motors += f'<motor name="{joint}" joint="{joint}" gear="{gear:.6g}"/>'
        joints.append(joint)
        paths = {f'axes["{joint}"].{leaf}': value for leaf, value in known.items() if leaf != "dry"}
        paths[f'actuators["{joint}"].gear'] = gear
        if contact:
            paths[f'axes["{joint}"].friction'] = known["dry"]
        elif k:
            paths[f'bodies["link{k}"].mass'] = mass
        true |= {path: value for path, value in paths.items() if random.random() < 0.6}
    tail = "</body>" * len(joints)
    xml = (
        f'<mujoco><compiler angle="radian"/><option timestep="{FINE[contact]}" integrator="RK4"/>'
        f"<worldbody>{FLOOR if contact else ''}{head}{tail}</worldbody>"
        f"<actuator>{motors}</actuator></mujoco>"
    )
    if not true:
        true = {'axes["joint0"].damping': known["damping"]}
    return Mechanism(xml, true, tuple(joints), contact, seed)


def words(vector: np.ndarray) -> str:
    """Return numbers as MJCF has them."""
    return " ".join(f"{x:.5f}" for x in vector)


def pushes(one: Mechanism, random: np.random.Generator) -> np.ndarray:
    """Return a control for each step and motor [k m], three sines each; the skate's lift it at
    times."""
    time = one.h * np.arange(one.every * (SAMPLES - 1) + 1)
    count = len(one.joints)
    size, rate, phase = (
        random.uniform(low, high, (count, 3, 1)) for low, high in ((0.3, 1.0), (3, 15), (0, 6.28))
    )
    control = np.sum(size * np.sin(rate * time + phase), axis=1).T
    if one.contact:
        weight = GRAVITY * mujoco.mj_getTotalmass(mujoco.MjModel.from_xml_string(one.xml))
        control[:, 0] *= 0.5 * weight
        control[:, 1] *= 0.7 * weight
    # Controls are held from sample to sample, which is how recorded ones are read.
    return np.repeat(control[:: one.every], one.every, axis=0)[: len(time)]


def recordings(one: Mechanism) -> list[Recording]:
    """Return noisy recordings of a mechanism: of MuJoCo in the air; with contact, whose law is
    another there, of this engine with a step twenty times finer than the fit's."""
    random = np.random.default_rng([one.seed, 2])
    controls = np.stack([pushes(one, random) for _ in range(SEQUENCES)])
    count = len(one.joints)
    start = random.normal(0, 0.3, (SEQUENCES, count)), random.normal(0, 0.5, (SEQUENCES, count))
    if one.contact:
        start[0][:, :2], start[1][:, 1] = 0.0, 0.0
        motion = simulated(one, *start, controls)
    else:
        motion = np.stack([foreign(one, *case) for case in zip(*start, controls, strict=True)])
    motion = motion[:, :: one.every]
    motion = motion + random.normal(0, NOISE, motion.shape)
    told = controls[:, :: one.every]
    return [
        recording(
            SAMPLE * np.arange(SAMPLES),
            f"sequence {number}",
            noise={"position": NOISE},
            position=dict(zip(one.joints, moved.T, strict=True)),
            control=dict(zip(one.joints, control.T, strict=True)),
        )
        for number, (moved, control) in enumerate(zip(motion, told, strict=True))
    ]


def foreign(
    one: Mechanism, position: np.ndarray, rate: np.ndarray, control: np.ndarray
) -> np.ndarray:
    """Return the motion [k n] that MuJoCo simulates."""
    model = mujoco.MjModel.from_xml_string(one.xml)
    data = mujoco.MjData(model)
    data.qpos, data.qvel = position, rate
    out = []
    for row in control:
        out.append(np.array(data.qpos))
        data.ctrl = row
        mujoco.mj_step(model, data)
    return np.array(out)


def simulated(
    one: Mechanism, position: np.ndarray, rate: np.ndarray, control: np.ndarray
) -> np.ndarray:
    """Return the motions [s k n] that this engine simulates."""
    loaded = jaxccp.load(one.xml)
    stop = Stop(atol=1e-9, max_iterations=500)
    stepper = EulerImplicitLinearized(h=one.h, law="ncp", stop=stop)
    model, layout = loaded.model, loaded.layout
    force = jnp.zeros((len(model.topology.bodies), 6))

    def motion(position: jax.Array, rate: jax.Array, control: jax.Array) -> jax.Array:
        carry = stepper.init(model, layout.state(model, loaded.state, position, rate))

        def step(carry, row):
            shown = layout.coordinates(model, carry.state)[0]
            return stepper.advance(model, carry, force, row)[0], shown

        return jax.lax.scan(step, carry, control)[1]

    return np.asarray(jax.jit(jax.vmap(motion))(position, rate, control))
