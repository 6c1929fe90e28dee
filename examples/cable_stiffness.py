"""Find stiffness and damping of a cable from its motion, by three marks recorded with noise.

The cable is released from the horizontal. Gauss–Newton on the logarithms of Young's modulus and of
the time constant of Kelvin–Voigt damping goes through the derivative of every step. The remaining
error gives the standard errors of both.
"""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np

from jaxccp import EulerImplicitLinearized, Model, ModelBuilder, rollout
from jaxccp.flexible import NodalFamily
from jaxccp.flexible.ancf import CableElements

TRUTH, GUESS = (3e6, 5e-3), (1e6, 2e-2)
"""Young's modulus [Pa], and the time constant of damping [s]."""
NOISE = 5e-4
"""Standard deviation of the recorded positions [m]."""
MARKS = (2, 3, 4)
"""The nodes that carry the marks, of 0 … 4."""
SEED = 0

builder = ModelBuilder()
nodes = builder.add_cable(
    np.linspace([0, 0, 0], [0.4, 0, 0], 5), 0.004, TRUTH[0], 1100.0, TRUTH[1], clamped=(0,)
)
model, start = builder.build()
stepper = EulerImplicitLinearized(h=1e-3)


def with_material(model: Model, young: jax.Array, damping: jax.Array) -> Model:
    """Return the model with another material of its cable.

    Args:
        model: the model.
        young: Young's modulus [Pa].
        damping: time constant of Kelvin–Voigt damping [s].
    """
    (cable,) = model.families
    assert isinstance(cable, NodalFamily) and isinstance(cable.elements, CableElements)
    elements = replace(cable.elements, young=young, retardation=damping)
    return replace(model, families=(replace(cable, elements=elements),))


def path(logarithms: jax.Array) -> jax.Array:
    """Return the positions of the marks [m] at 100 Hz for 0.4 s, one after the other."""
    changed = with_material(model, *jnp.exp(logarithms))
    _, record = rollout(changed, start, stepper, steps=400, every=10)
    return record.state.position[:, jnp.array([nodes[mark] for mark in MARKS])].ravel()


@jax.jit
def improved(logarithms: jax.Array, recorded: jax.Array) -> tuple[jax.Array, ...]:
    """Return the parameters after a Gauss–Newton step, the error before it [m], and the standard
    errors there."""

    def error(logarithms: jax.Array) -> tuple[jax.Array, jax.Array]:
        off = path(logarithms) - recorded
        return off, off

    slope, off = jax.jacfwd(error, has_aux=True)(logarithms)
    covariance = jnp.linalg.inv(slope.T @ slope)
    step = jnp.clip(-covariance @ slope.T @ off, -1.0, 1.0)
    variance = jnp.sum(off**2) / (len(off) - len(logarithms))
    root = jnp.sqrt(jnp.mean(off**2))
    return logarithms + step, root, jnp.sqrt(variance * jnp.diagonal(covariance))


def main() -> None:
    clean = jax.jit(path)(jnp.log(jnp.array(TRUTH)))
    recorded = clean + NOISE * jax.random.normal(jax.random.key(SEED), clean.shape)
    logarithms, before = jnp.log(jnp.array(GUESS)), jnp.inf
    for iteration in range(20):
        better, error, deviation = improved(logarithms, recorded)
        young, damping = jnp.exp(logarithms)
        print(f"{iteration}  E {young:.3e} Pa  α {damping:.2e} s  error {1e3 * error:8.3f} mm")
        if error > 0.999 * before:
            break
        logarithms, before = better, error
    (young, damping), (young_error, damping_error) = jnp.exp(logarithms), deviation
    print(
        f"found E = {young:.3e} Pa ± {100 * young_error:.1f} %, "
        f"α = {damping:.2e} s ± {100 * damping_error:.1f} %; "
        f"they were {TRUTH[0]:.3e} and {TRUTH[1]:.2e}"
    )


if __name__ == "__main__":
    main()
