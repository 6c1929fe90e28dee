"""Build, simulate, differentiate: how far a box slides, and how that depends on its friction."""

from dataclasses import replace

import jax

from jaxccp import Box, EulerImplicitLinearized, Material, ModelBuilder, Plane, rollout

builder = ModelBuilder()
builder.add_shape(0, Plane(), material=Material(friction=1.0))  # on body 0, the fixed world
builder.add_solid(
    Box((0.1, 0.1, 0.05)), 1.0, Material(friction=0.3), position=(0, 0, 0.05), velocity=(2, 0, 0)
)
model, state = builder.build()


def distance(friction: jax.Array) -> jax.Array:
    slick = replace(model, shapes=replace(model.shapes, friction=friction))
    final, _ = rollout(slick, state, EulerImplicitLinearized(h=2e-3, law="ncp"), steps=500)
    return final.position[1, 0]


slid, slope = jax.value_and_grad(distance)(model.shapes.friction)
print(f"slid {slid:.3f} m     v² / 2 μ g  = {2**2 / (2 * 0.3 * 9.81):.3f} m")
print(f"d/dμ {slope[1]:.2f} m      -v² / 2 μ²g = {-(2**2) / (2 * 0.3**2 * 9.81):.2f} m")
