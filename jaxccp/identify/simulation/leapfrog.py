"""Springs, dampers and servos of second order in leapfrog steps."""

from dataclasses import dataclass, replace

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool

from jaxccp.dynamics.body_mass import BodyMass
from jaxccp.dynamics.inertia import spin_of
from jaxccp.dynamics.inverse.inverse_dynamics import mass_matrix
from jaxccp.dynamics.momentum_velocities import momentum_velocities
from jaxccp.dynamics.tangent import tangent_names
from jaxccp.identify.subject import Subject
from jaxccp.model.kinematics.configuration import integrate_configuration
from jaxccp.model.kinematics.family_frames import with_frames
from jaxccp.model.kinematics.joint_motion import joint_motion
from jaxccp.model.model import Model
from jaxccp.model.state import Rotors, State
from jaxccp.model.structure import with_structure

STABLE = 0.5
"""Largest change of an axis's rate by its own spring in one step, or by its own damper in half a
step, relative to the rate, for which their forces are centred; stiffer ones remain implicit, which
is stable for any step."""
YIELDING = 0.01
"""Smallest damping of a force-limited servo, relative to h times its stiffness, for which its
spring is centred."""


@dataclass(frozen=True)
class Centring:
    """The axes and servos whose forces are of second order in the step.

    An implicit step has the force −k (q + h v⁺) − d v⁺ of a spring and a damper, where v⁺ is the
    rate half a step after q. That is the force at q with damping d + h k and an additional inertia
    d h / 2, so it is of first order in h. A step with the damping d − h k and the inertia a − d h /
    2 instead is the leapfrog step −k q − d (v⁻ + v⁺)/2.
    """

    springs: Bool[np.ndarray, " na"]
    """Mask of the axes whose springs are centred."""
    servos: Bool[np.ndarray, " nm"]
    """Mask of the actuators whose stiffness is centred."""
    dampers: Bool[np.ndarray, " na"]
    """Mask of the axes whose damping, including that of servos, is centred."""

    @staticmethod
    def of(subject: Subject, h: float) -> "Centring":
        """Return the forces that are centred for the numbers that a model has.

        Args:
            subject: the model.
            h: step [s].
        """
        model = subject.model
        linkage, actuators = model.topology.linkage, model.actuators
        count = len(linkage.axes)
        on, gear = linkage.actuated, np.asarray(actuators.gear)
        mobility = _mobility(subject)
        stiffness = np.asarray(model.axes.stiffness)[:count]
        damping = np.asarray(model.axes.damping)[:count].copy()
        servo = np.zeros(len(on), bool)
        servo[linkage.servos] = True
        servo &= on < count
        np.add.at(damping, on[servo], (gear**2 * np.asarray(actuators.damping))[servo])
        inverse = np.where(servo, mobility[np.where(servo, on, 0)], np.inf) if count else gear
        coefficients = np.asarray(actuators.damping), h * np.asarray(actuators.stiffness)
        soft = ~np.isin(np.arange(len(on)), linkage.servos[linkage.bounded])
        with np.errstate(invalid="ignore"):
            servos = servo & (h * coefficients[1] * gear**2 * inverse <= STABLE)
            return Centring(
                np.isin(np.arange(count), linkage.compliant)
                & (h * h * stiffness * mobility <= STABLE),
                servos & (soft | (coefficients[0] > YIELDING * coefficients[1])),
                0.5 * h * damping * mobility <= STABLE,
            )

    def with_armature_rows(self, model: Model) -> Model:
        """Return the model with rows of armature on the axes whose servo damping is centred."""
        linkage = model.topology.linkage
        axes = np.unique(linkage.actuated[linkage.servos])
        axes = axes[axes < len(linkage.axes)]
        axes = axes[self.dampers[axes]]
        return with_structure(model, {"axes.armature": axes}) if len(axes) else model

    def apply(self, model: Model, h: float) -> Model:
        """Return the model with the damping and armature for centred steps of ``h`` [s]."""
        axes, actuators, linkage = model.axes, model.actuators, model.topology.linkage
        count, servos = len(linkage.axes), linkage.servos
        if not count:
            return model
        damping = axes.damping[:count]
        on_axes = servos[linkage.actuated[servos] < count]
        on = linkage.actuated[on_axes]
        all_damping = damping.at[on].add(actuators.gear[on_axes] ** 2 * actuators.damping[on_axes])
        inertia = jnp.where(self.dampers, 0.5 * h * all_damping, 0.0)
        less = jnp.where(self.springs, h * axes.stiffness[:count], 0.0)
        axes = replace(
            axes,
            damping=axes.damping.at[:count].add(-less),
            armature=axes.armature.at[:count].add(-inertia),
        )
        stiffness = jnp.where(self.servos, h * actuators.stiffness, 0.0)
        actuators = replace(actuators, damping=actuators.damping - stiffness)
        return replace(model, axes=axes, actuators=actuators)


def _mobility(subject: Subject) -> np.ndarray:
    """Return the change of rate of each axis by a unit impulse along it [1/kg, 1/(kg m²)]; infinite
    for axes that are not degrees of freedom of a tree."""
    model = subject.model
    linkage = model.topology.linkage
    out = np.full(len(linkage.axes), np.inf)
    if model.topology.standalone.any() or not len(linkage.axes):
        return out
    inverse = np.diag(np.linalg.pinv(np.asarray(mass_matrix(model, subject.state))))
    names = tangent_names(model)
    for place, name in enumerate(linkage.axes):
        if name in names:
            out[place] = inverse[names.index(name)]
    return out


def set_back(model: Model, start: State, trial: State) -> State:
    """Return a state with its velocities half a step earlier, to start leapfrog steps from.

    Args:
        model: the model.
        start: the state, with the velocities of its own time.
        trial: the state after one step from it.

    Returns:
        The state with 3/2 of its own momenta less half of those after the step.
    """
    return _blended(model, start, trial, 1.5)


def centred(model: Model, before: State, after: State) -> State:
    """Return a state of leapfrog steps with the velocities of the time of its pose.

    Args:
        model: the model.
        before: the state, with velocities half a step earlier.
        after: the state one step later, with velocities half a step after the pose of ``before``.

    Returns:
        ``before`` with the mean momenta of both along the velocities that joints allow.
    """
    state = _blended(model, before, after, 0.5)
    motion = joint_motion(model, state)
    velocity = momentum_velocities(model, state, motion).velocity
    start = replace(state, joint_positions=motion.coordinate)
    return integrate_configuration(model, start, jnp.zeros_like(velocity), velocity)


def _blended(model: Model, first: State, second: State, weight: float) -> State:
    """Return the first state with ``weight`` times its own momenta and 1 − ``weight`` times those
    of the second one.

    A step changes the momenta of bodies by its forces; velocities change with the poses as well.
    """

    def blend(own: Array, other: Array) -> Array:
        return weight * own + (1.0 - weight) * other

    def spin_momentum(state: State) -> Array:
        return BodyMass.of(model, state).apply(state.twist)[:, 3:]

    def rotor_twist(state: State) -> Array:
        return state.twist - state.rotors.twist

    families = tuple(
        replace(own, v=blend(own.v, other.v))
        for own, other in zip(first.families, second.families, strict=True)
    )
    momentum = blend(spin_momentum(first), spin_momentum(second))
    state = replace(
        first,
        velocity=blend(first.velocity, second.velocity),
        angular_velocity=spin_of(model, first.quaternion, momentum),
        families=families,
    )
    state = with_frames(model, state)
    beyond = blend(rotor_twist(first), rotor_twist(second))
    rate = blend(first.rotors.rate, second.rotors.rate)
    return replace(state, rotors=Rotors(rate, state.twist - beyond))
