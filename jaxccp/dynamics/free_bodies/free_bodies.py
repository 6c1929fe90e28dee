"""Bodies with six velocities each, outside the dense mass matrix, in one step."""

from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxccp.ccp.operators import BodyDelassus, Delassus
from jaxccp.collision.detect import Contacts
from jaxccp.dynamics.contact.contact_jacobian import whiten_contacts
from jaxccp.dynamics.contact.impact import Action
from jaxccp.dynamics.free_bodies.free_body_velocities import FreeBodyMap
from jaxccp.dynamics.free_bodies.impact_time_rows import state_at_impact
from jaxccp.dynamics.free_bodies.joint_rows import JointRows
from jaxccp.dynamics.inertia import InverseRoot, inverse_root
from jaxccp.dynamics.rows import scalar_rows
from jaxccp.dynamics.rows.row import Step
from jaxccp.math import quaternion
from jaxccp.model.kinematics.joint_motion import joint_motion
from jaxccp.model.model import Model
from jaxccp.model.state import State


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class FreeBodies:
    """The bodies outside the dense mass matrix (:attr:`jaxccp.model.Topology.standalone`) in one
    step.

    Beside trees they only interact through contacts. If the mass matrix is block diagonal, all
    bodies are free, and the rows of joints and tendons act on them.
    """

    root: InverseRoot
    """L of these bodies; zero for all others."""
    free_velocity: Float[Array, "nb 6"]
    """Twists of these bodies without impulses of the problem's rows; zero for all others."""
    map: FreeBodyMap
    """Map from the twists of these bodies, one after another, to the twists of all bodies."""
    joints: JointRows | None
    """Rows of joints and tendons on these bodies; None if there are none."""
    delassus: BodyDelassus | None = None
    """Their part of N, as if no rows were eliminated; None before :meth:`with_contacts`."""
    impulse_map: BodyDelassus | None = None
    """Map from impulses of all rows to the bodies, which rotate until their time of impact; None
    before :meth:`with_contacts`."""

    @staticmethod
    def of(
        model: Model,
        state: State,
        impulse: Float[Array, "nb 6"],
        step: Step | None,
        eliminate: bool,
    ) -> "FreeBodies":
        """Return the free bodies of a step, without contacts yet.

        Args:
            model: the model.
            state: the state at the start of the step.
            impulse: impulses of all forces that are no rows, on each body [N s, N m s].
            step: the inputs of rows that act on these bodies; None if none do.
            eliminate: whether to solve for the equality rows beforehand.
        """
        topology = model.topology
        root = inverse_root(model, quaternion.to_matrix(state.quaternion))
        mask = jnp.asarray(topology.standalone)
        if not topology.block_diagonal_mass:
            ones = mask.astype(state.position.dtype)
            root = InverseRoot(ones * root.linear, ones[:, None, None] * root.angular)
        free_velocity = state.twist + root.apply(root.transpose(impulse))
        free_velocity, joints = jnp.where(mask[:, None], free_velocity, 0.0), None
        if step is not None:
            joints, free_velocity = JointRows.of(
                topology, scalar_rows(step), root, free_velocity, eliminate
            )
        return FreeBodies(root, free_velocity, FreeBodyMap(topology), joints)

    def masked(self, twist: Float[Array, "nb 6"]) -> Float[Array, "nb 6"]:
        """Return twists of these bodies, and zero for all others."""
        standalone = self.map.topology.standalone
        return jnp.where(jnp.asarray(standalone)[:, None], twist, 0.0)

    def with_rows_at_impact(
        self,
        model: Model,
        state: State,
        contacts: Contacts,
        action: Action,
        step: Step,
    ) -> "FreeBodies":
        """Return the free bodies with the rows of joints at the time at which each mechanism is
        hit.

        Args:
            model: the model.
            state: the state at the start of the step.
            contacts: the contacts there.
            action: times of impact of the contacts.
            step: the inputs of the rows at the start of the step.
        """
        assert self.joints is not None
        hit = state_at_impact(model.topology, state, contacts, action, self.free_velocity, step.h)
        rows = scalar_rows(replace(step, state=hit, motion=joint_motion(model, hit)))
        root = inverse_root(model, quaternion.to_matrix(hit.quaternion))
        joints = self.joints.with_rows_at_impact(model.topology, rows, self.root, root)
        return replace(self, joints=joints)

    def whiten(self, contacts: Contacts, jacobian: tuple[Array, Array]) -> Float[Array, "c w 12"]:
        """Return W = J L of contacts on free bodies.

        Args:
            contacts: the contacts.
            jacobian: linear and angular parts of the rows.
        """
        return whiten_contacts(self.root, contacts, jacobian)

    def with_contacts(
        self,
        contacts: Contacts,
        contact_rows: Float[Array, "c w 12"],
        impulse_rows: Float[Array, "c w 12"],
        compliance: Float[Array, " n"],
    ) -> tuple["FreeBodies", Delassus]:
        """Return the free bodies with the rows of contacts, and their part of N.

        Args:
            contacts: the contacts.
            contact_rows: whitened rows of contacts, as N has them.
            impulse_rows: the same rows as they map impulses to bodies.
            compliance: diagonal of E of all rows; zero if another part of N has it.
        """
        scalars = compliance.shape[0] - contact_rows.shape[0] * contact_rows.shape[1]
        if self.joints is None:
            scalar_rows_ = scalar_impulse_rows = jnp.zeros((scalars, 12), compliance.dtype)
            bodies = jnp.zeros((scalars, 2), jnp.int32)
        else:
            scalar_rows_, scalar_impulse_rows = self.joints.whitened(self.root)
            bodies = self.joints.remaining().bodies
        delassus = impulse_map = BodyDelassus(
            scalar_rows=scalar_rows_,
            contact_rows=contact_rows,
            scalar_bodies=bodies,
            contact_bodies=contacts.bodies,
            compliance=compliance,
            bodies=len(self.free_velocity),
        )
        if impulse_rows is not contact_rows:
            impulse_map = replace(
                delassus, scalar_rows=scalar_impulse_rows, contact_rows=impulse_rows
            )
        operator = delassus if self.joints is None else self.joints.eliminate_from(delassus)
        return replace(self, delassus=delassus, impulse_map=impulse_map), operator

    def respond(self, lam: Float[Array, " n"]) -> tuple[Float[Array, " 6*l"], Float[Array, " m"]]:
        """Return the twists of the bodies after the impulses ``lam``, in one vector, and the
        impulses of the eliminated rows."""
        assert self.impulse_map is not None and self.delassus is not None
        change = self.impulse_map.impulse(lam)
        if self.joints is None:
            eliminated = jnp.zeros(0, lam.dtype)
        else:
            change, added = self.joints.respond(change, self.delassus, lam)
            eliminated = self.joints.free_impulses + added
        twist = self.free_velocity + self.root.apply(change)
        return self.map.pull(twist), eliminated

    def undo_rates(
        self, rates: Float[Array, " k"]
    ) -> tuple[Float[Array, " 6*l"], Float[Array, " m"]]:
        """Return the velocities that change the rates along all bilateral rows by −``rates``, and
        the impulses of the eliminated rows for that.

        Args:
            rates: rates along all bilateral rows, which are eliminated [m/s, rad/s].
        """
        assert self.joints is not None and self.joints.equalities is not None
        padding = self.joints.free_impulses.shape[0] - rates.shape[0]
        none = jnp.zeros_like(self.free_velocity)
        change, impulses = self.joints.equalities.solve(none, jnp.pad(rates, (0, padding)))
        return self.map.pull(self.root.apply(change)), impulses
