"""Springs, dampers and servos in steps that leapfrog, with forces of second order in the step."""

from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool

from jaxccp.dynamics.inverse_dynamics import mass_matrix
from jaxccp.dynamics.tangent import tangent_names
from jaxccp.identify.subject import Subject
from jaxccp.model.model import Model
from jaxccp.model.state import State
from jaxccp.model.structure import with_structure

STABLE = 0.5
"""Change of an axis's rate by its own spring or damper in one step, over the rate, up to which
their forces are centred; stiffer ones stay implicit, which is stable whatever the step."""
YIELDING = 0.01
"""Least share of damping in what a servo with a limit of force resists a change of rate by, for
its spring to be centred."""


@dataclass(frozen=True)
class Centring:
    """A centring says which axes and servos have forces of second order.

    An implicit step has −k (q + h v⁺) − d v⁺ of a spring and a damper, v⁺ being the rate half a
    step after q. That is the force at q of a damping d + h k, beside an inertia d h / 2: of first
    order in h. So a step of h is given the damping d − h k and the inertia a − d h / 2, which makes
    it the leapfrog's −k q − d (v⁻ + v⁺)/2 in all that is solved.
    """

    springs: Bool[np.ndarray, " na"]
    """Mask: axes whose springs are centred."""
    servos: Bool[np.ndarray, " nm"]
    """Mask: actuators whose stiffness is centred."""
    dampers: Bool[np.ndarray, " na"]
    """Mask: axes on which damping, that of servos included, is centred."""

    @staticmethod
    def of(subject: Subject, h: float) -> "Centring":
        """Return what is centred in steps of a model, by its numbers as they are.

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

    def rows(self, model: Model) -> Model:
        """Return the model with the rows of armature that damping of servos is centred by."""
        linkage = model.topology.linkage
        axes = np.unique(linkage.actuated[linkage.servos])
        axes = axes[axes < len(linkage.axes)]
        axes = axes[self.dampers[axes]]
        return with_structure(model, {"axes.armature": axes}) if len(axes) else model

    def apply(self, model: Model, h: float) -> Model:
        """Return the model with the numbers that steps of ``h`` [s] take in place of its own."""
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
    """Return the change of rate of each axis by a unit impulse along it [1/kg, 1/(kg m²)];
    infinite of axes that are no degrees of freedom of a tree."""
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


def set_back(start: State, trial: State) -> State:
    """Return a state with the velocities of half a step before, which leapfrog steps start from.

    Args:
        start: the state, with the velocities of its own time.
        trial: the state after one step from it.

    Returns:
        The state with 3/2 of its own velocities less half of those after the step.
    """

    def back(before: Array, after: Array) -> Array:
        return 1.5 * before - 0.5 * after

    return replace(
        start,
        velocity=back(start.velocity, trial.velocity),
        angular_velocity=back(start.angular_velocity, trial.angular_velocity),
        rotors=jax.tree.map(back, start.rotors, trial.rotors),
    )
