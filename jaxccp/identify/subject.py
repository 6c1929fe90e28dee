"""A subject of identification: a model, its coordinates, and the calibration of its channels."""

from dataclasses import dataclass, field

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxccp.model.model import Model
from jaxccp.model.state import State
from jaxccp.sensors.coordinates.coordinates import Coordinates


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Channels:
    """Calibration of channels: recorded value = scale · true value + offset, recorded with a delay.

    Input channels (torques, controls) are converted to true values before they act on the model.
    Predictions of observed channels are converted to recorded values. Poses have a delay, but
    neither scale nor offset.
    """

    offset: Float[Array, " k"]
    """Offset of each channel, in the channel's unit."""
    scale: Float[Array, " k"]
    """Ratio of recorded to true value of each channel."""
    delay: Float[Array, " k"]
    """Delay of each channel's samples, or of the effect of an input channel, on the recording's
    clock [s]."""
    names: tuple[str, ...] = field(metadata={"static": True})
    """Names such as ``position["elbow"]``."""
    delay_bounds: tuple[tuple[float, float], ...] = field(metadata={"static": True})
    """Smallest and largest possible delay of each channel [s]."""

    @staticmethod
    def ideal(names: tuple[str, ...]) -> "Channels":
        """Return channels with offset 0, scale 1 and delay 0."""
        zero = jnp.zeros(len(names))
        return Channels(zero, jnp.ones(len(names)), zero, names, ((0.0, 0.0),) * len(names))


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Subject:
    """A model with the layout of its coordinates, a state, and the calibration of its channels."""

    model: Model
    """The model."""
    layout: Coordinates
    """Conversion between states of the model and recorded coordinates (``qpos``, ``qvel``)."""
    state: State
    """State of the model; simulations take from it everything that recordings do not contain."""
    channels: Channels
    """Calibration of the recordings' channels."""
    time_scale: Float[Array, ""]
    """Ratio of true to recorded time; recorded rates refer to the recording's clock."""
    centre_shift: Float[Array, "nb 3"]
    """Shift of each body's centre of mass by parameters, body axes [m]."""
    law_numbers: dict[str, Float[Array, ""]] = field(default_factory=dict)
    """Numbers of an impact law that are not part of the model, if they differ from the law's
    defaults (:func:`jaxccp.identify.impacts.impacts.law_number`)."""
    time_scale_bounds: tuple[float, float] = field(default=(1.0, 1.0), metadata={"static": True})
    """Smallest and largest possible time scale."""

    @staticmethod
    def of(model: Model, layout: Coordinates, state: State, channels: tuple[str, ...]) -> "Subject":
        """Return the subject of a model whose channels are ideal.

        Args:
            model: the mechanism.
            layout: layout of the model's coordinates.
            state: a state of it.
            channels: names of the recorded channels.
        """
        return Subject(
            model,
            layout,
            state,
            Channels.ideal(channels),
            time_scale=jnp.ones(()),
            centre_shift=jnp.zeros_like(state.position),
        )
