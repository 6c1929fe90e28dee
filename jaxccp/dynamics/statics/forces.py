"""Forces on a model at rest, and their derivatives and the masses, in tangent coordinates."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxccp.dynamics.inertia import family_energy, potential_energy
from jaxccp.dynamics.second_order.mobility import Configuration
from jaxccp.execution.trees import is_traced
from jaxccp.model.family import Family, FamilyState
from jaxccp.model.kinematics.configuration import integrate_configuration, with_joint_coordinates
from jaxccp.model.kinematics.joint_motion import tree_motion
from jaxccp.model.model import Model
from jaxccp.model.state import State


def check_conservative(model: Model, caller: str) -> None:
    """Check that all of the model's forces at rest have a potential, and that its velocities suit
    the equations of statics.

    Args:
        model: the model.
        caller: name of the calling function, for the message.

    Raises:
        ValueError: the model has forces without a potential, families that have other coordinates
            than velocities, or bodies outside of its dense mass matrix.
    """
    topology, fluid = model.topology, model.fluid
    causes = {
        "a fluid with wind, or whose wind is traced (its drag has no potential)": fluid is not None
        and (is_traced(fluid.wind) or np.any(fluid.wind)),
        "tendons with laws of force (any function, without a potential)": len(
            model.tendons.laws.index
        ),
        "actuators (their forces follow controls, not a potential)": len(
            topology.linkage.actuators
        ),
        "families that have other coordinates than velocities (their stiffness is not square)": any(
            family_state.q.shape != family_state.v.shape
            for family_state in (f.start() for f in model.families)
        ),
        "a block-diagonal mass matrix (its joints are rows)": topology.block_diagonal_mass,
        f"bodies without joints beside more than {topology.dense} degrees of freedom (they are not "
        "in its dense mass matrix)": topology.has_many_dofs and topology.unjointed.any(),
    }
    present_causes = ", ".join(cause for cause, present in causes.items() if present)
    if present_causes:
        raise ValueError(
            f"{caller} knows no model with {present_causes}: simulate it with damping until it "
            "rests, or leave these out and hold coordinates instead"
        )


def rest_state(model: Model, state: State) -> State:
    """Return the state with zero velocities and the joint coordinates of its poses.

    Args:
        model: the model.
        state: the state; its velocities are ignored.
    """
    families = tuple(
        replace(family_state, v=jnp.zeros_like(family_state.v)) for family_state in state.families
    )
    zero = jnp.zeros_like(state.velocity)
    rotors = jax.tree.map(jnp.zeros_like, state.rotors)
    resting = replace(state, velocity=zero, angular_velocity=zero, rotors=rotors, families=families)
    return with_joint_coordinates(model, resting)


def energy_rounding_error(
    model: Model, state: State, potential: Float[Array, ""]
) -> Float[Array, ""]:
    """Return the rounding error of the potential energy [J].

    It is that of the sum, plus the energy by which rounding of the families' coordinates strains
    their stiff elements.

    Args:
        model: the model.
        state: the state.
        potential: potential energy of the state [J].
    """
    eps = float(jnp.finfo(potential.dtype).eps)
    weight = model.bodies.mass * jnp.abs(state.position @ model.gravity)
    size = jnp.abs(potential) + jnp.sum(jnp.where(jnp.asarray(model.topology.free), weight, 0.0))

    def perturbed(family_state: FamilyState) -> FamilyState:
        signs = np.random.default_rng(0).choice((-1.0, 1.0), len(family_state.q))
        return replace(
            family_state, q=family_state.q * jnp.asarray(1.0 + eps * signs, family_state.q.dtype)
        )

    nearby = replace(state, families=tuple(map(perturbed, state.families)))
    return eps * size + jnp.abs(family_energy(model, nearby) - family_energy(model, state))


def generalised_forces(model: Model, state: State) -> tuple[Array, ...]:
    """Return the forces on the degrees of freedom of the trees, then on those of each family [N, N
    m].

    Args:
        model: the model.
        state: a state at rest.
    """
    family_parts = [
        family_force(model, family, family_state)
        for family, family_state in family_states(model, state)
    ]
    return _tree_force(model, state), *family_parts


def family_force(model: Model, family: Family, family_state: FamilyState) -> Float[Array, " n"]:
    """Return the forces on the velocities of one family at rest [N, N m].

    Args:
        model: the model, with gravity.
        family: the family.
        family_state: state of the family.
    """
    return family.momentum(family_state.q, jnp.zeros_like(family_state.v), model.gravity, 1.0)


def stiffnesses(model: Model, state: State) -> tuple[Array, ...]:
    """Return the stiffness matrix −∂f/∂z of the trees, then that of each family, z being the pose
    in tangent coordinates.

    Args:
        model: the model.
        state: a state at rest.
    """

    family_parts = [
        family_stiffness(model, family, family_state)
        for family, family_state in family_states(model, state)
    ]
    return tree_stiffness(model, state), *family_parts


def family_stiffness(
    model: Model, family: Family, family_state: FamilyState
) -> Float[Array, "n n"]:
    """Return the stiffness matrix of one family at rest.

    Args:
        model: the model, with gravity.
        family: the family.
        family_state: state of the family.
    """
    return -jax.jacfwd(lambda q: family_force(model, family, replace(family_state, q=q)))(
        family_state.q
    )


def tree_stiffness(model: Model, state: State) -> Float[Array, "n n"]:
    """Return the stiffness matrix of the trees alone.

    Args:
        model: the model.
        state: a state at rest.
    """
    return -jax.jacfwd(lambda z: _tree_force(model, state, z))(_zero_displacement(model, state))


def tree_mass(model: Model, state: State) -> Float[Array, "n n"]:
    """Return the mass matrix of the trees alone, including rotors.

    Args:
        model: the model.
        state: the state.
    """
    return Configuration.of(model, state, tree_motion(model, state)).tree_mass_matrix()


def _zero_displacement(model: Model, state: State) -> Float[Array, " n"]:
    return jnp.zeros(model.topology.dofs.count, state.position.dtype)


def _tree_force(model: Model, state: State, z: Array | None = None) -> Float[Array, " n"]:
    """Return minus the gradient of the potential energy with respect to the trees' coordinates, at
    a displacement ``z``."""
    rigid = replace(model, families=())
    alone = replace(state, families=())
    zero = _zero_displacement(model, state)
    if not len(zero):
        return zero
    return -jax.grad(lambda at: potential_energy(rigid, integrate_configuration(rigid, alone, at)))(
        zero if z is None else z
    )


def family_states(model: Model, state: State) -> list[tuple[Family, FamilyState]]:
    """Return the pairs of families and their states.

    Args:
        model: the model.
        state: the state.
    """
    return list(zip(model.families, state.families, strict=True))
