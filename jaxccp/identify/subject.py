"""A subject of identification: a model, its coordinates, and the calibration of its channels."""

from dataclasses import dataclass, field

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxccp.model.model import Model
from jaxccp.model.state import State
from jaxccp.sensors.mujoco_coordinates import Coordinates


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Channels:
    """Calibration of channels: recorded value = scale · true value + offset, late by delay.

    Input channels (torques, controls) are read through it before they act on the model; observed
    channels are predicted through it.
    """

    offset: Float[Array, " k"]
    """Offset of each channel, in the channel's unit."""
    scale: Float[Array, " k"]
    """Recorded over true value of each channel."""
    delay: Float[Array, " k"]
    """Time by which each channel is recorded, or acts, late [s]."""
    names: tuple[str, ...] = field(metadata={"static": True})
    """Names such as ``position["elbow"]``."""
    delay_bounds: tuple[tuple[float, float], ...] = field(metadata={"static": True})
    """Least and greatest delay that each channel may take [s]."""

    @staticmethod
    def ideal(names: tuple[str, ...]) -> "Channels":
        """Return channels without offset, error of scale or delay."""
        zero = jnp.zeros(len(names))
        return Channels(zero, jnp.ones(len(names)), zero, names, ((0.0, 0.0),) * len(names))


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Subject:
    """A model with its coordinates, the state that its fixed bodies have, and its channels."""

    model: Model
    layout: Coordinates
    """Between states of the model and recorded coordinates (``qpos``, ``qvel``)."""
    state: State
    """A state of the model, of which simulations keep all that recordings do not tell."""
    channels: Channels
    time_scale: Float[Array, ""]
    """True over recorded time; recorded rates are per second of the recording's clock."""
    law_numbers: dict[str, Float[Array, ""]] = field(default_factory=dict)
    """Numbers of an impact law that no model has, where they are not the law's own
    (:func:`jaxccp.identify.impacts.law_number`)."""
    time_scale_bounds: tuple[float, float] = field(default=(1.0, 1.0), metadata={"static": True})
    """Least and greatest time scale."""

    @staticmethod
    def of(model: Model, layout: Coordinates, state: State, channels: tuple[str, ...]) -> "Subject":
        """Return the subject of a model whose channels are ideal.

        Args:
            model: the mechanism.
            layout: its coordinates.
            state: a state of it.
            channels: names of the recorded channels.
        """
        return Subject(model, layout, state, Channels.ideal(channels), jnp.ones(()))
