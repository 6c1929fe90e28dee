"""Mass, centre of mass and inertia of a body in ten numbers that are physical whatever they are.

The pseudo-inertia P = [[Σ, h], [hᵀ, m]] of a body, Σ = ½ tr(I) 1 − I, is positive definite if and
only if some distribution of mass has it (Wensing, Kim & Slotine, IEEE RA-L 3, 2018). With the
upper triangular factor A of the nominal one, P = A U(x) U(x)ᵀ Aᵀ reaches all of them by ten
numbers x = (α, d1, d2, d3, s12, s13, s23, t1, t2, t3) of

    U = exp(α) [[exp(d1), s12, s13, t1], [0, exp(d2), s23, t2], [0, 0, exp(d3), t3], [0, 0, 0, 1]]

(the log-Cholesky parameters of Rucker & Wensing, IEEE RA-L 7, 2022, relative to the nominal body):
x = 0 is the nominal body, exp(2 α) the factor on its mass, and t the shift of
its centre in root-mean-square extents of the mass, along the columns of A.
"""

from dataclasses import replace

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxccp.identify.subject import Subject
from jaxccp.model.model import Model

LABELS = ("alpha", "d1", "d2", "d3", "s12", "s13", "s23", "t1", "t2", "t3")
"""Names of the ten parameters of a body's inertia."""
SMALLEST = 1e-3
"""Smallest eigenvalue of Σ of the nominal body, relative to the largest. Bodies at the limit of the
triangle inequality are thickened to it, so that parameters can change in all directions."""


def factor(x: Float[Array, "10"]) -> Float[Array, "4 4"]:
    """Return the upper triangular matrix U(x) of the ten parameters x."""
    alpha, d1, d2, d3, s12, s13, s23, t1, t2, t3 = x
    zero, unity = jnp.zeros_like(alpha), jnp.ones_like(alpha)
    rows = [
        [jnp.exp(d1), s12, s13, t1],
        [zero, jnp.exp(d2), s23, t2],
        [zero, zero, jnp.exp(d3), t3],
        [zero, zero, zero, unity],
    ]
    return jnp.exp(alpha) * jnp.stack([jnp.stack(row) for row in rows])


def nominal_factor(model: Model, body: int) -> Float[np.ndarray, "4 4"]:
    """Return the upper triangular A with P = A Aᵀ, the pseudo-inertia of a body about its centre of
    mass, in body axes.

    Raises:
        ValueError: the body does not move, or has no mass.
    """
    name = model.topology.bodies[body]
    if not model.topology.free[body]:
        raise ValueError(f'bodies["{name}"] is fixed: its inertia has no effect on any motion')
    mass, inertia = float(model.bodies.mass[body]), np.asarray(model.bodies.inertia[body], float)
    if not (mass > 0 and np.isfinite(inertia).all()):
        raise ValueError(f'bodies["{name}"] must have a mass > 0 and a finite inertia')
    sigma = 0.5 * np.trace(inertia) * np.eye(3) - inertia
    values, vectors = np.linalg.eigh(0.5 * (sigma + sigma.T))
    values = np.maximum(values, SMALLEST * max(values.max(), 1e-12))
    sigma = vectors @ np.diag(values) @ vectors.T
    flip = np.eye(3)[::-1]
    upper = flip @ np.linalg.cholesky(flip @ sigma @ flip) @ flip
    full = np.zeros((4, 4))
    full[:3, :3], full[3, 3] = upper, np.sqrt(mass)
    return full


def physical(
    nominal: Float[np.ndarray, "4 4"], x: Float[Array, "10"]
) -> tuple[Float[Array, ""], Float[Array, "3"], Float[Array, "3 3"]]:
    """Return mass [kg], shift of the centre of mass [m] and inertia about the new centre [kg m²]
    for ten parameters ``x``.

    They are in the axes of the body; the shift is from the nominal centre of mass.
    """
    root = jnp.asarray(nominal, x.dtype) @ factor(x)
    pseudo = root @ root.T
    mass, moment = pseudo[3, 3], pseudo[:3, 3]
    shift = moment / mass
    sigma = pseudo[:3, :3] - mass * jnp.outer(shift, shift)
    return mass, shift, jnp.trace(sigma) * jnp.eye(3, dtype=x.dtype) - sigma


def with_inertias(
    subject: Subject,
    bodies: np.ndarray,
    mass: Float[Array, " n"],
    shift: Float[Array, "n 3"],
    inertia: Float[Array, "n 3 3"],
) -> Subject:
    """Return the subject with different inertias of some bodies.

    The axes of a body and its joints, shapes, sites, tendons, boxes in a fluid and recorded
    coordinates do not move. The model gives their places relative to the centre of mass, so these
    numbers change.

    Args:
        subject: the model.
        bodies: indices of n bodies.
        mass: mass of each [kg].
        shift: shift of each centre of mass from where the model has it, body axes [m].
        inertia: inertia of each about its new centre of mass, body axes [kg m²].
    """
    model = subject.model
    topology, linkage = model.topology, model.topology.linkage
    away, fluid = jnp.zeros_like(model.bodies.inertia[:, 0]).at[bodies].set(shift), model.fluid
    if fluid is not None:
        fluid = replace(fluid, position=fluid.position - away[np.array(fluid.bodies, np.int32)])
    model = replace(
        model,
        bodies=replace(
            model.bodies,
            mass=model.bodies.mass.at[bodies].set(mass),
            inertia=model.bodies.inertia.at[bodies].set(inertia),
        ),
        joints=replace(model.joints, anchor=model.joints.anchor - away[linkage.bodies]),
        shapes=replace(model.shapes, position=model.shapes.position - away[topology.shape_body]),
        sites=replace(
            model.sites,
            position=model.sites.position - away[np.array(model.sites.bodies, np.int32)],
        ),
        tendons=replace(
            model.tendons, point=model.tendons.point - away[linkage.routing.point_body]
        ),
        fluid=fluid,
    )
    centre = subject.layout.centre + away[subject.layout.places.free[2]]
    return replace(
        subject,
        model=model,
        layout=replace(subject.layout, centre=centre),
        centre_shift=subject.centre_shift + away,
    )
