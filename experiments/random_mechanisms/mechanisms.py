"""Draw random mechanisms with known parameters, and make noisy recordings of their motion."""

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
"""Step length of the recorded simulations, without (False) and with contact (True) [s]."""
STEPS = (1e-3, 2e-4)
"""Step lengths of the fit's simulations, first a coarse then a fine one [s]."""
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
    """A random mechanism and the parameters to identify, with their true values."""

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
        """Return the number of simulation steps between samples."""
        return round(SAMPLE / self.h)

    def parameters(self) -> list[Parameter]:
        """Return the parameters, with initial values that are up to 25 % off."""
        random = np.random.default_rng([self.seed, 1])
        return [
            Parameter(path, initial=value * random.uniform(0.75, 1.25), lower=0.0)
            for path, value in self.true.items()
        ]

    def redundant(self) -> tuple[list[Parameter], tuple[str, ...]]:
        """Return parameters that no motion of the mechanism can determine, and words of their
        report.

        With contact it is the friction of a floor that is lower than the foot's, otherwise gear and
        scale of a control. They have narrow priors about their true values. A line of the report on
        poorly determined directions has to contain all the words.
        """
        if self.contact:
            floor = Parameter('shapes["floor"].friction', initial=0.01, prior=NARROW, scale=0.1)
            return [floor], ("floor", "not determined")
        joint = self.joints[-1]
        gear, scale = f'actuators["{joint}"].gear', f'channels["control*{joint}*"].scale'
        paths = (gear, scale) if gear not in self.true else (scale,)
        words = f'actuators["{joint}"]', "channels", "determined only as a"
        return [Parameter(path, prior=NARROW, scale=0.1) for path in paths], words


def mechanism(seed: int) -> Mechanism:
    """Return a random chain of one or two links.

    Chains of even seeds move in the air. Those of odd seeds have dry friction in their joints and
    are mounted on a skate that slides along a floor and hops.

    Args:
        seed: seed of all random choices.
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
        axis, direction = random.normal(size=(2, 3))
        joint_numbers = {
            "damping": numbers(0.05, 0.3),
            "armature": numbers(0.005, 0.05),
            "stiffness": numbers(20, 60) if slides else numbers(0.5, 2.0),
            "dry": numbers(0.05, 0.2) if contact else 0.0,
        }
        joint, gear = f"joint{k}", numbers(0.5, 2.0) * (5 if slides else 1)
        place, end = end, numbers(0.15, 0.35) * direction / np.linalg.norm(direction)
        head += LINK.format(
            name=f"link{k}",
            joint=joint,
            kind="slide" if slides else "hinge",
            place=words(place),
            end=words(end),
            axis=words(axis / np.linalg.norm(axis)),
            mass=(mass := numbers(0.3, 1.5)),
            **joint_numbers,
        )
        motors += f'<motor name="{joint}" joint="{joint}" gear="{gear:.6g}"/>'
        joints.append(joint)
        paths = {
            f'axes["{joint}"].{leaf}': value
            for leaf, value in joint_numbers.items()
            if leaf != "dry"
        }
        paths[f'actuators["{joint}"].gear'] = gear
        if contact:
            paths[f'axes["{joint}"].friction'] = joint_numbers["dry"]
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
        true = {'axes["joint0"].damping': joint_numbers["damping"]}
    return Mechanism(xml, true, tuple(joints), contact, seed)


def words(vector: np.ndarray) -> str:
    """Return the numbers of a vector as MJCF writes them."""
    return " ".join(f"{x:.5f}" for x in vector)


def motor_commands(chain: Mechanism, random: np.random.Generator) -> np.ndarray:
    """Return a control for each step and motor [k m], each a sum of three sines; those of the skate
    are large enough to lift it at times."""
    time = chain.h * np.arange(chain.every * (SAMPLES - 1) + 1)
    count = len(chain.joints)
    size, rate, phase = (
        random.uniform(low, high, (count, 3, 1)) for low, high in ((0.3, 1.0), (3, 15), (0, 6.28))
    )
    control = np.sum(size * np.sin(rate * time + phase), axis=1).T
    if chain.contact:
        weight = GRAVITY * mujoco.mj_getTotalmass(mujoco.MjModel.from_xml_string(chain.xml))
        control[:, 0] *= 0.5 * weight
        control[:, 1] *= 0.7 * weight
    # Controls are held from sample to sample, which is how recorded ones are read.
    return np.repeat(control[:: chain.every], chain.every, axis=0)[: len(time)]


def recordings(chain: Mechanism) -> list[Recording]:
    """Return noisy recordings of a mechanism.

    In the air MuJoCo simulates the motion. With contact, whose law differs in MuJoCo, this engine
    does, with a step twenty times finer than the fit's.
    """
    random = np.random.default_rng([chain.seed, 2])
    controls = np.stack([motor_commands(chain, random) for _ in range(SEQUENCES)])
    count = len(chain.joints)
    start = random.normal(0, 0.3, (SEQUENCES, count)), random.normal(0, 0.5, (SEQUENCES, count))
    if chain.contact:
        start[0][:, :2], start[1][:, 1] = 0.0, 0.0
        motion = simulated(chain, *start, controls)
    else:
        motion = np.stack([foreign(chain, *case) for case in zip(*start, controls, strict=True)])
    motion = motion[:, :: chain.every]
    motion = motion + random.normal(0, NOISE, motion.shape)
    sampled_controls = controls[:, :: chain.every]
    return [
        recording(
            SAMPLE * np.arange(SAMPLES),
            f"sequence {number}",
            noise={"position": NOISE},
            position=dict(zip(chain.joints, positions.T, strict=True)),
            control=dict(zip(chain.joints, control.T, strict=True)),
        )
        for number, (positions, control) in enumerate(zip(motion, sampled_controls, strict=True))
    ]


def foreign(
    chain: Mechanism, position: np.ndarray, rate: np.ndarray, control: np.ndarray
) -> np.ndarray:
    """Return the motion that MuJoCo simulates [k n].

    Args:
        chain: mechanism.
        position: initial joint positions [n].
        rate: initial joint rates [n].
        control: controls of all steps [k m].
    """
    model = mujoco.MjModel.from_xml_string(chain.xml)
    data = mujoco.MjData(model)
    data.qpos, data.qvel = position, rate
    out = []
    for row in control:
        out.append(np.array(data.qpos))
        data.ctrl = row
        mujoco.mj_step(model, data)
    return np.array(out)


def simulated(
    chain: Mechanism, position: np.ndarray, rate: np.ndarray, control: np.ndarray
) -> np.ndarray:
    """Return the motions that this engine simulates [s k n].

    Args:
        chain: mechanism.
        position: initial joint positions of all sequences [s n].
        rate: initial joint rates [s n].
        control: controls of all steps [s k m].
    """
    loaded = jaxccp.load(chain.xml)
    stop = Stop(atol=1e-9, max_iterations=500)
    stepper = EulerImplicitLinearized(h=chain.h, law="ncp", stop=stop)
    model, layout = loaded.model, loaded.layout
    force = jnp.zeros((len(model.topology.bodies), 6))

    def motion(position: jax.Array, rate: jax.Array, control: jax.Array) -> jax.Array:
        carry = stepper.init(model, layout.state(model, loaded.state, position, rate))

        def step(carry, row):
            shown = layout.coordinates(model, carry.state)[0]
            return stepper.advance(model, carry, force, row)[0], shown

        return jax.lax.scan(step, carry, control)[1]

    return np.asarray(jax.jit(jax.vmap(motion))(position, rate, control))
