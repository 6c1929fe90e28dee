"""The problem of a step on the twists of all bodies: joints, contacts and free motion."""

from dataclasses import dataclass, field, replace

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxccp.ccp.cones import Cones
from jaxccp.ccp.operators import BodyDelassus
from jaxccp.ccp.problem import Problem
from jaxccp.collision.detect import Contacts
from jaxccp.dynamics.contact_rows import ContactUnits, contact_terms, whiten_contacts
from jaxccp.dynamics.forces import total_force
from jaxccp.dynamics.impact import Action
from jaxccp.dynamics.inertia import InverseRoot, inverse_root
from jaxccp.dynamics.maximal.eliminated_delassus import EliminatedDelassus
from jaxccp.dynamics.maximal.equalities import Equalities, equalities
from jaxccp.dynamics.maximal.late_rows import Answers, at_hit
from jaxccp.dynamics.maximal.partition import Partition, partition
from jaxccp.dynamics.outcome import Outcome
from jaxccp.dynamics.rows import scalar_rows
from jaxccp.dynamics.rows.row import Rows, Step
from jaxccp.math import quaternion
from jaxccp.math.linear3 import cross
from jaxccp.model.kinematics import JointMotion, joint_motion
from jaxccp.model.model import Model
from jaxccp.model.state import State


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class MaximalSystem:
    """One step's problem and how its solution acts on the bodies."""

    problem: Problem
    """Over the rows that are left where equalities have been eliminated, over all else."""
    resting: Float[Array, " n"] | None
    """Its r [m/s] without impacts; None where no closed contact answers them at their time."""
    delassus: BodyDelassus
    """Of the same rows, on bodies that nothing holds."""
    pushes: BodyDelassus
    """The same, with what impulses do to the bodies: these turn until their time of impact."""
    equalities: Equalities | None
    """The eliminated rows at the start of the step."""
    answers: Answers | None
    """The same when mechanisms are hit; None where no impulse acts late."""
    root: InverseRoot
    free_velocity: Float[Array, "nb 6"]
    """V + h M⁻¹ f: twists (linear, angular; world) without contact; the eliminated rows hold."""
    rows: Rows
    """All scalar rows."""
    settled: Float[Array, " m"]
    """Multipliers of the eliminated rows for ``free_velocity``."""
    action: Action
    """When and where the contacts' impulses act."""
    units: ContactUnits
    recovery: Float[Array, ""]
    """Largest speed at which this step undoes penetration [m/s]."""
    h: Float[Array, ""] | float
    """Length of the step [s]."""
    partition: Partition | None = field(metadata={"static": True})

    def after(self, lam: Float[Array, " n"]) -> Outcome:
        """What the impulses ``lam`` lead to."""
        own, blocks = self.problem.cones.split(lam)
        if self.action.late:
            early, by_lever = (
                at(self.problem, lam) for at in (self.action.early, self.action.lever_early)
            )
            every, answers = jax.vmap(self._moved)(jnp.stack([lam, early, by_lever]))
            (moved, shifted, by_lever), answer = every, answers[0]
            transport_velocity = self.free_velocity + self.root.apply(shifted)
            twist = self.free_velocity + self.root.apply(moved)
            twist = twist + self._spun(moved, shifted, by_lever)
        else:
            moved, answer = self._moved(lam)
            twist = transport_velocity = self.free_velocity + self.root.apply(moved)
        if self.partition is not None:
            every = jnp.zeros(self.rows.bias.shape[0], lam.dtype)
            every = every.at[self.partition.eliminated].set(self.settled + answer)
            own = every.at[self.partition.rest].set(own)
        return Outcome(twist, transport_velocity, own, self.units.to_world(blocks))

    def _spun(
        self,
        moved: Float[Array, "nb 6"],
        shifted: Float[Array, "nb 6"],
        by_lever: Float[Array, "nb 6"],
    ) -> Float[Array, "nb 6"]:
        """What levers leave out where a body is hit more than once in a step: they know nothing
        of how far an earlier impulse moves it before a later one, nor of the delay of an answer.
        Orbital momentum changes by h m (Δc × Δv + v × (Δc_lever − Δc)) on that account, for the
        free velocity v, the velocities Δv that impulses add, and Δc that they add to those that
        carry the poses; the spin makes up for it, but where a joint says how a body may spin."""
        root = jnp.where(self.root.linear > 0, self.root.linear, 1.0)[:, None]
        free = self.free_velocity[:, :3] / root
        lost = self.h * (
            cross(moved[:, :3], shifted[:, :3]) - cross(free, (by_lever - shifted)[:, :3])
        )
        lost = lost.at[self.rows.bodies.reshape(-1)].set(0.0)
        return self.root.apply(self.root.transpose(jnp.pad(lost, ((0, 0), (3, 0)))))

    def _moved(self, lam: Float[Array, " n"]) -> tuple[Array, Array]:
        """Whitened velocities that the impulses ``lam`` add, and the eliminated rows' answer."""
        push = self.pushes.impulse(lam)
        none = jnp.zeros_like(self.settled)
        if self.equalities is None or not lam.shape[0]:
            return push, none
        if self.answers is None:
            return self.equalities.solve(push, none)
        return self.answers.moved(self.delassus.impulse(lam), push)

    def guess(self, scalars: Float[Array, " s"], world: Float[Array, "c w"]) -> Float[Array, " n"]:
        """Multipliers from impulses of all scalar rows, and of contacts in the world: linear, then
        angular where contacts roll."""
        own = scalars if self.partition is None else scalars[self.partition.rest]
        return self.problem.cones.join(own, self.units.to_local(world))


def assemble(
    model: Model,
    state: State,
    contacts: Contacts,
    h: Float[Array, ""] | float,
    force: Float[Array, "nb 6"] | None,
    motion: JointMotion | None = None,
    control: Float[Array, " nm"] | None = None,
    eliminate: bool = True,
) -> MaximalSystem:
    """The problem of one step of length ``h`` [s] with applied forces and torques (world).

    ``motion`` is that of the joints, None for a model that has none; ``control`` is 0 unless
    given. ``eliminate`` solves for the equality rows of the joints beforehand.

    Raises:
        ValueError: for a model with families, whose frames have no six velocities of their own.
    """
    if model.families:
        raise ValueError(
            'a model with families has no maximal coordinates: step it with coordinates="reduced"'
        )
    rows, step = _along_joints(model, state, h, motion, control)
    root = inverse_root(model, quaternion.to_matrix(state.quaternion))
    twist = state.twist
    free = jnp.asarray(model.topology.free)[:, None]
    acceleration = root.apply(root.transpose(total_force(model, state, step, force)))
    free_velocity = jnp.where(free, twist + h * acceleration, 0.0)

    topology, every, parts, held = model.topology, rows, None, None
    settled = jnp.zeros(0, twist.dtype)
    if eliminate and motion is not None:
        parts = partition(topology)
        bilateral, rigid = rows.of(parts.eliminated), topology.linkage.forbidden
        held, free_velocity, settled = _hold(bilateral, rigid, parts, root, free_velocity)
        rows = rows.of(parts.rest)

    before = jnp.where(free, twist, 0.0)
    terms = contact_terms(model, state, contacts, before, free_velocity, h, turning=topology.free)
    late, there, answers = every, root, None
    if topology.rebounds and motion is not None:
        hit = at_hit(topology, state, contacts, terms.action, free_velocity, h)
        late, _ = _along_joints(model, hit, h, joint_motion(model, hit), control)
        there = inverse_root(model, quaternion.to_matrix(hit.quaternion))
    operator_rows, answering = late, held
    if parts is not None:
        operator_rows = late.of(parts.rest)
        if late is not every:
            rigid = topology.linkage.forbidden
            answers = Answers.of(late.of(parts.eliminated), rigid, parts.forest, root, there)
            answering = answers.felt

    touching = terms.rows(whiten_contacts(root, contacts, terms.jacobian), topology.rolls)
    delassus = BodyDelassus(
        operator_rows.whitened(there),
        touching.whitened,
        rows.bodies,
        contacts.bodies,
        jnp.concatenate([rows.compliance, touching.compliance]),
        state.position.shape[0],
    )
    pushes = delassus
    if terms.push is not None:
        pushing = terms.in_units(whiten_contacts(root, contacts, terms.push), touching.units)
        pushes = replace(delassus, scalar_rows=operator_rows.whitened(root), contact_rows=pushing)
    along = rows.velocity(free_velocity) + rows.bias
    r, resting = jnp.concatenate([along, touching.r]), None
    if touching.resting is not None:
        resting = jnp.concatenate([along, touching.resting])
    operator = delassus if answering is None else EliminatedDelassus(delassus, answering)
    cones = Cones(rows.lo, rows.hi, terms.friction, rolling=touching.rolling)
    return MaximalSystem(
        problem=Problem(operator, r, cones),
        resting=resting,
        delassus=delassus,
        pushes=pushes,
        equalities=held,
        answers=answers,
        root=root,
        free_velocity=free_velocity,
        rows=every,
        settled=settled,
        action=terms.action,
        units=touching.units,
        recovery=terms.recovery,
        h=h,
        partition=parts,
    )


def _hold(
    rows: Rows, rigid: int, parts: Partition, root: InverseRoot, free_velocity: Array
) -> tuple[Equalities, Array, Array]:
    """Equality rows, the first of them ``rigid``, the velocities at which they hold without further
    impulses, and theirs."""
    held = equalities(rows, rows.whitened(root), rigid, parts.forest)
    rest = jnp.zeros_like(free_velocity)
    moved, lam = held.solve(rest, rows.residual(rows.velocity(free_velocity), rigid))
    return held, free_velocity + root.apply(moved), lam


def _along_joints(
    model: Model,
    state: State,
    h: Array | float,
    motion: JointMotion | None,
    control: Array | None,
) -> tuple[Rows, Step | None]:
    """The scalar rows, and what they are made from where there are joints."""
    dtype, linkage = state.position.dtype, model.topology.linkage
    if motion is None:
        none = jnp.zeros(0, dtype)
        empty = jnp.zeros((0, 2, 6), dtype)
        return Rows.rigid(empty, jnp.zeros((0, 2), jnp.int32), none, none, none), None
    if control is None:
        control = jnp.zeros(len(linkage.actuators), dtype)
    step = Step(model, state, motion, h, control)
    return scalar_rows(step), step
