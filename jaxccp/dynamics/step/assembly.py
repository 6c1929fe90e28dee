"""Assembly of the problem of a step from its blocks."""

from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxccp.ccp.operators import Delassus, SumDelassus
from jaxccp.collision.detect import Contacts
from jaxccp.dynamics.body_mass import BodyMass
from jaxccp.dynamics.contact.contact_rows import contact_terms
from jaxccp.dynamics.contact.impact import Action
from jaxccp.dynamics.forces import total_force
from jaxccp.dynamics.free_bodies.free_bodies import FreeBodies
from jaxccp.dynamics.rows.row import Rows, Step
from jaxccp.dynamics.smooth import Resistance
from jaxccp.dynamics.step.system import StepSystem
from jaxccp.dynamics.trees.free_motion import solve_free_motion
from jaxccp.dynamics.trees.shared_mass import SharedMass
from jaxccp.model.kinematics.joint_motion import JointMotion, joint_motion, tree_motion
from jaxccp.model.model import Model
from jaxccp.model.state import State
from jaxccp.model.topology import Topology


def assemble_system(
    model: Model,
    state: State,
    contacts: Contacts,
    h: Float[Array, ""] | float,
    force: Float[Array, "nb 6"] | None = None,
    control: Float[Array, " nm"] | None = None,
    resistance: Resistance | None = None,
    *,
    eliminate: bool = True,
) -> tuple[StepSystem, JointMotion | None]:
    """Assemble the problem of a step.

    Trees and families share a mass matrix. Bodies without joints and tendons have their own if
    there are many degrees of freedom, unless ``resistance`` couples them, and all bodies if
    :attr:`jaxccp.model.Topology.block_diagonal_mass`.

    Velocities without impulses are M̂⁻¹ (Σ J_bᵀ (P_b + h f_b − ½ h g_b) − Σ J_rᵀ α_r b_r), where g
    is the rate of the velocity-product momentum. The momenta P of the bodies at the start are those
    in the middle of the last step, whose spin has been transported to the new orientations. After
    the step they are M_b J_b v + ½ h g_b, those in the middle of this step. To second order this is
    a leapfrog scheme on positions, that of SHAKE (Ryckaert et al., J. Comput. Phys. 23, 1977).

    Args:
        model: the model.
        state: the state at the start of the step.
        contacts: the contacts there (:func:`jaxccp.collision.detect.detect`).
        h: length of the step [s].
        force: applied force [N] and torque [N m] on each body, world axes, or None.
        control: control of each actuator, 0 when None.
        resistance: resistance of the smooth contacts whose forces are in ``force``; M̂ then
            includes their h R + h² K, and is one dense matrix of all velocities.
        eliminate: whether to solve for equality rows beforehand: those of loops and of tendons of
            given length beside trees, those of all joints if the mass matrix is block diagonal.

    Returns:
        The problem, and the motion of joints and tendons; None for free bodies alone.

    Raises:
        ValueError: there is a resistance, and the mass matrix of the model is block diagonal.
    """
    topology = model.topology
    if topology.block_diagonal_mass and resistance is not None:
        raise ValueError(
            "steps that are implicit in smooth contacts couple all bodies, but the model has a "
            "block-diagonal mass matrix: give the stepper the model as it was built"
        )
    if control is None:
        control = jnp.zeros(len(topology.linkage.actuators), state.position.dtype)
    if topology.block_diagonal_mass:
        blocks = _free_bodies(model, state, h, force, control, eliminate)
    else:
        blocks = _trees(model, state, h, force, control, resistance, eliminate)
    free_twist = blocks.free_twist
    terms = contact_terms(model, state, contacts, blocks.before, free_twist, h, blocks.twist_bias)
    if topology.block_diagonal_mass and topology.rebounds and blocks.step is not None:
        blocks = blocks.with_rows_at_impact(state, contacts, terms.action)

    time = h * terms.action.delay
    whitened = blocks.whiten(contacts, terms.jacobian, time, 1)
    contact_rows, impulse_rows = terms.rows(whitened, topology.rolls), None
    if terms.impulse_jacobian is not None:
        whitened = blocks.whiten(contacts, terms.impulse_jacobian, time, 2)
        impulse_rows = terms.in_units(whitened, contact_rows.units)
    compliance = contact_rows.compliance_after(blocks.rows)
    shared, free_bodies, operator = blocks.with_contacts(
        topology, eliminate, contacts, contact_rows.whitened, impulse_rows, compliance
    )
    problem, r_without_impacts = contact_rows.problem(blocks.rows, blocks.r_scalar, operator)
    return StepSystem(
        problem=problem,
        r_without_impacts=r_without_impacts,
        shared=shared,
        free_bodies=free_bodies,
        mass=blocks.mass,
        action=terms.action,
        units=contact_rows.units,
        recovery=terms.recovery,
        h=h,
        topology=topology,
        eliminate=eliminate,
    ), blocks.motion


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class _Blocks:
    """The blocks of a step before its contacts are known."""

    model: Model
    """The model."""
    shared: SharedMass | None
    """Trees and families; None if the mass matrix is block diagonal."""
    free_bodies: FreeBodies | None
    """Bodies outside the mass matrix of ``shared``; None if there are none."""
    mass: BodyMass
    """Mass operator of the bodies."""
    motion: JointMotion | None
    """Motion of joints and tendons; None for free bodies alone."""
    step: Step | None
    """Inputs of the rows on free bodies; None if none act on them."""
    rows: Rows
    """Scalar rows that remain in the problem."""
    r_scalar: Float[Array, " s"]
    """Their velocities without impulses, with bias [m/s, rad/s]."""
    before: Float[Array, "nb 6"]
    """Twists of the bodies at the start of the step; zero for fixed bodies."""
    free_twist: Float[Array, "nb 6"]
    """Twists at the end without impulses of the problem's rows."""
    twist_bias: Float[Array, "nb 6"] | None = None
    """Rates of the twists at constant velocities [m/s², rad/s²]; None if they are neglected."""

    def with_rows_at_impact(self, state: State, contacts: Contacts, action: Action) -> "_Blocks":
        """Return the blocks with the rows of joints at the time at which each mechanism is hit.

        Args:
            state: the state at the start of the step.
            contacts: the contacts there.
            action: times of impact of the contacts.
        """
        assert self.free_bodies is not None and self.step is not None
        free_bodies = self.free_bodies.with_rows_at_impact(
            self.model, state, contacts, action, self.step
        )
        return replace(self, free_bodies=free_bodies)

    def whiten(
        self,
        contacts: Contacts,
        jacobian: tuple[Array, Array],
        time: Float[Array, " c"],
        roots: int,
    ) -> Float[Array, "c w k"]:
        """Return the whitened rows of contacts over the columns of both blocks.

        Args:
            contacts: the contacts.
            jacobian: linear and angular parts of the rows.
            time: time of each impact [s].
            roots: 1 for the rows of N, 2 to map impulses to velocities (:meth:`SharedMass.whiten`).
        """
        parts = []
        if self.shared is not None:
            parts.append(self.shared.whiten(self.model.topology, contacts, jacobian, time, roots))
        if self.free_bodies is not None:
            parts.append(self.free_bodies.whiten(contacts, jacobian))
        return parts[0] if len(parts) == 1 else jnp.concatenate(parts, axis=2)

    def with_contacts(
        self,
        topology: Topology,
        eliminate: bool,
        contacts: Contacts,
        contact_rows: Float[Array, "c w k"],
        impulse_rows: Float[Array, "c w k"] | None,
        compliance: Float[Array, " n"],
    ) -> tuple[SharedMass | None, FreeBodies | None, Delassus]:
        """Return both blocks with the rows of contacts, and N.

        Args:
            topology: structure of the model.
            eliminate: whether equality rows are eliminated.
            contacts: the contacts.
            contact_rows: whitened rows of contacts, as N has them.
            impulse_rows: the same rows as they map impulses to velocities; None: as N has them.
            compliance: diagonal of E of all rows.
        """
        shared, free_bodies, operators = self.shared, self.free_bodies, []
        count = 0 if shared is None else shared.count

        def parts(rows: Array) -> tuple[Array, Array]:
            return rows[..., :count], rows[..., count:]

        of_shared, of_bodies = parts(contact_rows)
        impulse_parts = (of_shared, of_bodies) if impulse_rows is None else parts(impulse_rows)
        if shared is not None:
            shared, operator = shared.with_contacts(
                topology, eliminate, of_shared, impulse_parts[0], compliance
            )
            operators.append(operator)
            compliance = jnp.zeros_like(compliance)
        if free_bodies is not None:
            free_bodies, operator = free_bodies.with_contacts(
                contacts, of_bodies, impulse_parts[1], compliance
            )
            operators.append(operator)
        operator = operators[0] if len(operators) == 1 else SumDelassus(tuple(operators))
        return shared, free_bodies, operator


def _free_bodies(
    model: Model,
    state: State,
    h: Array | float,
    force: Float[Array, "nb 6"] | None,
    control: Float[Array, " nm"],
    eliminate: bool,
) -> _Blocks:
    """Return the only block of a model whose mass matrix is block diagonal."""
    motion = joint_motion(model, state) if model.topology.linkage.linked else None
    step = None if motion is None else Step(model, state, motion, h, control)
    impulse = h * total_force(model, state, step, force)
    free_bodies = FreeBodies.of(model, state, impulse, step, eliminate)
    free_twist, joints = free_bodies.free_velocity, free_bodies.joints
    rows = Rows.none(state.position.dtype) if joints is None else joints.remaining()
    return _Blocks(
        model=model,
        shared=None,
        free_bodies=free_bodies,
        mass=BodyMass.of(model, state),
        motion=motion,
        step=step,
        rows=rows,
        r_scalar=rows.velocity(free_twist) + rows.bias,
        before=free_bodies.masked(state.twist),
        free_twist=free_twist,
    )


def _trees(
    model: Model,
    state: State,
    h: Array | float,
    force: Float[Array, "nb 6"] | None,
    control: Float[Array, " nm"],
    resistance: Resistance | None,
    eliminate: bool,
) -> _Blocks:
    """Return the block of trees and families, and that of free bodies beside them."""
    topology, motion, free_bodies = model.topology, tree_motion(model, state), None
    free, loop_constraints = solve_free_motion(
        model, state, h, force, motion, control, resistance, eliminate
    )
    velocity = free.space.unwhiten(free.whitened)
    free_twist, before = free.space.twists(velocity), free.before
    if topology.standalone.any() and free.space.free_bodies is None:
        free_bodies = FreeBodies.of(model, state, free.impulse, None, eliminate)
        free_twist = free_twist + free_bodies.free_velocity
        before = before + free_bodies.masked(state.twist)
    shared = SharedMass.of(topology, state, free, loop_constraints, velocity, h)
    linearisation = shared.linearisation
    return _Blocks(
        model=model,
        shared=shared,
        free_bodies=free_bodies,
        mass=free.mass,
        motion=motion,
        step=None,
        rows=free.rows,
        r_scalar=free.rows.jacobian[:, 0] @ velocity + free.rows.bias,
        before=before,
        free_twist=free_twist,
        twist_bias=None if linearisation is None else linearisation.twist_rate(velocity),
    )
