"""Define perceptrons with brax's activation, so that both algorithms share one file format."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxccp.math.draw import Key

Layers = list[tuple[Array, Array]]
"""Kernel [in out] and bias [out] of each layer."""


def perceptron(key: Key, sizes: Sequence[int], last: float = 1.0) -> Layers:
    """Return random layers after LeCun, with biases of 0.

    Args:
        key: random key.
        sizes: sizes of the input, of the hidden layers and of the output.
        last: factor on the kernel of the last layer.
    """
    layers = []
    for number, layer_key in enumerate(jax.random.split(key, len(sizes) - 1)):
        scale = (last if number == len(sizes) - 2 else 1.0) / sizes[number] ** 0.5
        kernel = scale * jax.random.normal(layer_key, (sizes[number], sizes[number + 1]))
        layers.append((kernel, jnp.zeros(sizes[number + 1])))
    return layers


def applied(layers: Layers, x: Float[Array, "*b n"]) -> Float[Array, "*b m"]:
    """Return the output of a perceptron with activation x σ(x) between the layers."""
    for kernel, bias in layers[:-1]:
        x = jax.nn.silu(x @ kernel + bias)
    kernel, bias = layers[-1]
    return x @ kernel + bias


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Policy:
    """A deterministic policy: observations are centred and scaled, actions are from −1 to 1."""

    mean: Float[Array, " n"]
    deviation: Float[Array, " n"]
    layers: Layers

    def __call__(self, obs: Float[Array, "*b n"]) -> Float[Array, "*b na"]:
        return jnp.tanh(applied(self.layers, (obs - self.mean) / self.deviation))

    def save(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        arrays: dict[str, Any] = {"mean": self.mean, "deviation": self.deviation}
        for number, (kernel, bias) in enumerate(self.layers):
            arrays |= {f"kernel{number}": kernel, f"bias{number}": bias}
        arrays = {name: np.asarray(value, np.float32) for name, value in arrays.items()}
        np.savez_compressed(path, **arrays)

    @staticmethod
    def load(path: Path) -> "Policy":
        with np.load(path) as file:
            arrays = {name: jnp.asarray(file[name]) for name in file.files}
        count = sum(name.startswith("kernel") for name in arrays)
        layers = [(arrays[f"kernel{i}"], arrays[f"bias{i}"]) for i in range(count)]
        return Policy(arrays["mean"], arrays["deviation"], layers)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Moments:
    """The running mean and variance of the observations."""

    count: Float[Array, ""]
    mean: Float[Array, " n"]
    variance: Float[Array, " n"]

    @staticmethod
    def of(size: int) -> "Moments":
        mean = jnp.zeros(size)
        return Moments(jnp.array(1e-4, mean.dtype), mean, jnp.ones(size))

    @property
    def deviation(self) -> Float[Array, " n"]:
        """Standard deviation, not below 0.01, so that observations that hardly vary are not
        amplified."""
        return jnp.sqrt(self.variance + 1e-4)

    def scaled(self, obs: Float[Array, "*b n"]) -> Float[Array, "*b n"]:
        return (obs - self.mean) / self.deviation

    def seen(self, obs: Float[Array, "b n"]) -> "Moments":
        """Return the moments with more observations (Chan, Golub & LeVeque 1983)."""
        added = jnp.asarray(len(obs), self.count.dtype)
        count = self.count + added
        shift = jnp.mean(obs, axis=0) - self.mean
        spread = self.variance * self.count + jnp.var(obs, axis=0) * added
        spread = spread + shift**2 * self.count * added / count
        return Moments(count, self.mean + shift * added / count, spread / count)
