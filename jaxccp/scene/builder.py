"""The builder: makes a model of bodies, shapes, joints and actuators, and checks them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import get_args

import jax
import jax.numpy as jnp
import numpy as np

from jaxccp.collision.broad import choose_broad_phase
from jaxccp.execution.trees import is_traced
from jaxccp.model.actuators.activation import Activations
from jaxccp.model.inputs.check import finite_vector, instance, nonnegative
from jaxccp.model.material import Combination
from jaxccp.model.model import ContactSettings, Model
from jaxccp.model.sites import Sites
from jaxccp.model.smooth import SmoothLaws
from jaxccp.model.state import State
from jaxccp.model.topology import ImpactTimes, Topology
from jaxccp.scene.flexible_builder import FlexibleBuilder
from jaxccp.scene.frames import IDENTITY, ORIGIN
from jaxccp.scene.joint_builder import JointBuilder
from jaxccp.scene.loop_closure import with_checked_joint_coordinates
from jaxccp.scene.symmetry import axisymmetric
from jaxccp.scene.tables.body_tables import body_table, initial_state
from jaxccp.scene.tables.joint_tables import joint_tables
from jaxccp.scene.tables.shape_tables import pair_groups, shape_table, table_rows
from jaxccp.scene.tables.smooth_tables import smooth_surfaces, smooth_topology, split_pairs


@dataclass
class ModelBuilder(FlexibleBuilder, JointBuilder):
    """Collects bodies, shapes, joints, tendons and actuators, then builds a model of them.

    Every method raises ``ValueError`` for unphysical arguments and ``TypeError`` for objects of
    another kind, with a message that names them and a remedy.
    """

    gravity: Sequence[float] = (0.0, 0.0, -9.81)
    """Acceleration of gravity [m/s²]."""
    combination: Combination = field(default_factory=Combination)
    """Rules that combine the coefficients of two surfaces to those of a contact."""
    smooth_laws: SmoothLaws = field(default_factory=SmoothLaws)
    """Laws of contacts between surfaces with a smooth material."""
    margin: float = 0.02
    """Gap below which a contact enters the problem [m]."""
    recovery_speed: float = 0.6
    """Largest speed at which ``EulerImplicitLinearized`` undoes penetration [m/s]; bodies may
    separate at this speed. ``EulerImplicitProjected`` undoes penetration at once, without
    velocities."""
    min_bounce_speed: float = 0.15
    """Approach speed below which restitution is 0 [m/s]."""
    impact_times: ImpactTimes = "bounces"
    """Which impacts act at the time of impact within a step: ``"bounces"``, those with restitution,
    or ``"all"``.

    Other impacts without restitution close their gap over the whole step. That costs less and never
    adds energy, but its derivative is not that of the motion. With ``"all"`` surfaces may penetrate
    by up to ½ g h², which the next steps undo. Closed contacts respond to an impact at its time; a
    step with such contacts takes two solves.
    """
    broad_phase: str = "auto"
    """Method that finds the pairs of moving shapes that are close: a name in
    :data:`jaxccp.collision.broad.BROAD`, or ``"auto"``, a choice by the number of pairs. It is
    used once a rollout, or :func:`jaxccp.fit_capacity`, has set the capacity for pairs."""

    def __post_init__(self) -> None:
        if self.impact_times not in get_args(ImpactTimes):
            raise ValueError(f'impact_times must be "bounces" or "all", not {self.impact_times!r}')
        choose_broad_phase(self.broad_phase, 0, 0)  # raises for a name that does not exist
        rules = 'Combination(friction="max")'
        instance("combination", self.combination, (Combination,), f"a Combination, such as {rules}")
        laws = 'SmoothLaws(normal="hooke")'
        instance("smooth_laws", self.smooth_laws, (SmoothLaws,), f"SmoothLaws, such as {laws}")
        self._add("world", False, 1.0, np.eye(3), ORIGIN, IDENTITY, ORIGIN, ORIGIN)

    def build(self, max_contacts: int | None = None) -> tuple[Model, State]:
        """Build the model and its initial state, in JAX's current default precision.

        Args:
            max_contacts: largest number of contacts in one step, of hard and of smooth ones each;
                where there are more, the deepest are kept and the overflow is reported. None: room
                for every candidate point.

        Returns:
            The model, and the state in which the bodies are where they were added.

        Raises:
            ValueError: the model has no body, ``max_contacts`` is no whole number ≥ 1, or the poses
                of the bodies violate a joint or a tendon of given length.
        """
        if is_traced(jnp.zeros(())):  # under jit, where the check below needs numbers too
            with jax.ensure_compile_time_eval():
                return self.build(max_contacts)
        model, state = self.build_open(max_contacts)
        # Frames made from an anchor coincide by construction.
        must_fit = self._explicit_frames or len(model.topology.linkage.routing.bilateral)
        return model, with_checked_joint_coordinates(model, state) if must_fit else state

    def build_open(self, max_contacts: int | None = None) -> tuple[Model, State]:
        """Build the model and its initial state without checking that joints and tendons fit the
        poses.

        The state's joint coordinates are 0, whatever the poses are;
        :func:`jaxccp.model.kinematics.configuration.with_joint_coordinates` computes them.

        Args:
            max_contacts: see :meth:`build`.

        Raises:
            ValueError: the model has no body, or ``max_contacts`` is no whole number ≥ 1.
        """
        if len(self._bodies) == 1:
            raise ValueError("the model has no body besides the world; add one with add_body")
        family = np.array([body.family for body in self._bodies])
        free = np.array([body.free for body in self._bodies])
        movable = free | (family >= 0)
        joints, axes, tendons, actuators, linkage = joint_tables(
            self._joints,
            self._tendons,
            self._actuators,
            self._actuator_limits,
            ~movable,
            family >= 0,
        )
        hard, smooth = split_pairs(self._shapes, self._may_touch)
        surfaces = [p.material for p in self._shapes if p.material.smooth is None]
        pairs = self._shapes, self._pair_friction
        topology = Topology(
            bodies=tuple(body.name for body in self._bodies),
            free=free,
            family=family,
            shape_names=tuple(spec.name for spec in self._shapes),
            shapes=tuple(spec.shape.kind for spec in self._shapes),
            shape_body=np.array([spec.body for spec in self._shapes], np.int32),
            row=table_rows(self._shapes),
            pairs=pair_groups(*pairs, hard, movable, self.broad_phase),
            combination=self.combination,
            rolls=any(surface.spinning or surface.rolling for surface in surfaces)
            or any(
                (spinning or rolling) and hard(*pair)
                for pair, (_, spinning, rolling) in self._pair_friction.items()
            ),
            rebounds=any(surface.restitution > 0 for surface in surfaces)
            or self.impact_times == "all",
            impact_times=self.impact_times,
            max_contacts=max_contacts,
            linkage=linkage,
            axisymmetric=axisymmetric(self._joints, self._bodies),
            smooth=smooth_topology(
                *pairs,
                smooth,
                movable,
                self.broad_phase,
                self.smooth_laws,
                self.combination,
                max_contacts,
            ),
        )
        model = Model(
            bodies=body_table(self._bodies),
            shapes=shape_table(*pairs, self.margin, self._may_touch),
            joints=joints,
            axes=axes,
            tendons=tendons,
            actuators=actuators,
            gravity=jnp.asarray(finite_vector("gravity [m/s²]", self.gravity, 3), float),
            contact=ContactSettings(
                jnp.asarray(nonnegative("margin [m]", self.margin), float),
                jnp.asarray(nonnegative("recovery_speed [m/s]", self.recovery_speed), float),
                jnp.asarray(nonnegative("min_bounce_speed [m/s]", self.min_bounce_speed), float),
            ),
            sites=Sites.of(list(self._sites.values()), self._sites),
            topology=topology,
            families=tuple(self._families),
            smooth=smooth_surfaces(self._shapes, topology, self._families, self.smooth_laws),
            activations=Activations.of([spec_.actuator.activation for spec_ in self._actuators]),
        )
        return model, initial_state(model, self._bodies)
