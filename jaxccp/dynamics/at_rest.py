"""Forces on a model at rest, and how they and the masses depend on its velocities' coordinates."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxccp.dynamics.inertia import family_energy, potential_energy
from jaxccp.dynamics.reduced.advance import advanced_coordinates, settle
from jaxccp.dynamics.reduced.body_mass import BodyMass
from jaxccp.dynamics.reduced.mass import mass_matrix
from jaxccp.dynamics.reduced.screws import screws
from jaxccp.math import quaternion
from jaxccp.model.family import Family, FamilyState
from jaxccp.model.family_frames import with_frames
from jaxccp.model.forward_kinematics import forward_kinematics
from jaxccp.model.model import Model
from jaxccp.model.state import State


def check(model: Model, what: str) -> None:
    """Raise ``ValueError`` for what has forces at rest that are no slope of a potential."""
    topology = model.topology
    causes = {
        "tendons with laws of force": len(model.tendons.laws.index),
        "actuators": len(topology.linkage.actuators),
        "families that have other coordinates than velocities": any(
            here.q.shape != here.v.shape for here in (f.start() for f in model.families)
        ),
        "more than 100 degrees of freedom of rigid bodies": topology.loose.any(),
    }
    found = ", ".join(cause for cause, present in causes.items() if present)
    if found:
        raise ValueError(
            f"{what} knows no model with {found}: simulate it with damping until it rests, "
            "or leave these out and hold coordinates instead"
        )


def still(model: Model, state: State) -> State:
    """The state with all velocities 0, and the coordinates of joints as the poses have them."""
    families = tuple(replace(here, v=jnp.zeros_like(here.v)) for here in state.families)
    zero = jnp.zeros_like(state.velocity)
    rotors = jax.tree.map(jnp.zeros_like, state.rotors)
    resting = replace(state, velocity=zero, angular_velocity=zero, rotors=rotors, families=families)
    return settle(model, resting)


def moved(model: Model, state: State, change: Float[Array, " nv"]) -> State:
    """The pose changed by ``change`` in tangent coordinates, as :func:`jaxccp.retract` does; of a
    state that is :func:`still`, so that nothing has to be searched."""
    dofs, roots = model.topology.dofs, model.topology.dofs.roots
    sizes = [dofs.first_axis, len(dofs.axes), *(len(here.v) for here in state.families)]
    six, shifts, *families = jnp.split(change, np.cumsum(sizes)[:-1])
    six = six.reshape(-1, 6)
    turned = quaternion.multiply(quaternion.exp(six[:, 3:]), state.quaternion[roots])
    after = replace(
        state,
        position=state.position.at[roots].add(six[:, :3]),
        quaternion=state.quaternion.at[roots].set(quaternion.normalize(turned)),
        families=tuple(
            replace(here, q=here.q + q) for here, q in zip(state.families, families, strict=True)
        ),
    )
    way = jnp.zeros_like(state.joint_positions).at[dofs.axes].set(shifts)
    coordinate = advanced_coordinates(model, state.joint_positions, way)
    return with_frames(model, forward_kinematics(model, after, coordinate))


def blur(model: Model, state: State, potential: Float[Array, ""]) -> Float[Array, ""]:
    """Rounding error of the potential energy [J]: of its sum, and on account of the coordinates of
    families, whose smallest changes strain what is stiff."""
    eps = float(jnp.finfo(potential.dtype).eps)
    weight = model.bodies.mass * jnp.abs(state.position @ model.gravity)
    size = jnp.abs(potential) + jnp.sum(jnp.where(jnp.asarray(model.topology.free), weight, 0.0))

    def shaken(here: FamilyState) -> FamilyState:
        signs = np.random.default_rng(0).choice((-1.0, 1.0), len(here.q))
        return replace(here, q=here.q * jnp.asarray(1.0 + eps * signs, here.q.dtype))

    near = replace(state, families=tuple(map(shaken, state.families)))
    return eps * size + jnp.abs(family_energy(model, near) - family_energy(model, state))


def forces(model: Model, state: State) -> tuple[Array, ...]:
    """Return the forces on the degrees of freedom of the trees, then on the velocities of each
    family."""
    own = [force(model, family, here) for family, here in families(model, state)]
    return _tree_force(model, state), *own


def force(model: Model, family: Family, here: FamilyState) -> Float[Array, " n"]:
    """Return the forces on the velocities of one family."""
    return family.momentum(here.q, jnp.zeros_like(here.v), model.gravity, 1.0)


def stiffnesses(model: Model, state: State) -> tuple[Array, ...]:
    """How much the forces fall per change: of the trees and of each family, square matrices."""

    own = [stiffness(model, family, here) for family, here in families(model, state)]
    return tree_stiffness(model, state), *own


def stiffness(model: Model, family: Family, here: FamilyState) -> Float[Array, "n n"]:
    """Return the stiffness of one family."""
    return -jax.jacfwd(lambda q: force(model, family, replace(here, q=q)))(here.q)


def masses(model: Model, state: State) -> tuple[Array, ...]:
    """Mass matrices of the trees and of each family."""
    own = [family.mass_matrix(here.q, 0.0) for family, here in families(model, state)]
    return tree_mass(model, state), *own


def tree_stiffness(model: Model, state: State) -> Float[Array, "n n"]:
    """Return the stiffness of the trees alone."""
    return -jax.jacfwd(lambda z: _tree_force(model, state, z))(_no_change(model, state))


def tree_mass(model: Model, state: State) -> Float[Array, "n n"]:
    """Return the mass matrix of the trees alone, with the rotors of their axes."""
    dofs, body = model.topology.dofs, BodyMass.of(model, state)
    matrix = mass_matrix(screws(model, state), state.position, body.mass, body.inertia)
    own = np.arange(dofs.first_axis, dofs.count)
    return matrix.at[own, own].add(model.axes.armature[dofs.axes])


def _no_change(model: Model, state: State) -> Float[Array, " n"]:
    return jnp.zeros(model.topology.dofs.count, state.position.dtype)


def _tree_force(model: Model, state: State, z: Array | None = None) -> Float[Array, " n"]:
    """Minus the slope of the potential energy by the trees' coordinates, ``z`` away."""
    rigid = replace(model, families=())
    alone = replace(state, families=())
    zero = _no_change(model, state)
    if not len(zero):
        return zero
    return -jax.grad(lambda at: potential_energy(rigid, moved(rigid, alone, at)))(
        zero if z is None else z
    )


def families(model: Model, state: State) -> list[tuple[Family, FamilyState]]:
    """Each family with its state."""
    return list(zip(model.families, state.families, strict=True))
