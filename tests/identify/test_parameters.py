"""Named parameters: bounds, reparametrisation, and what each changes in a model."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxccp.identify import PARAMETERS, parameters
from jaxccp.scene.library import SCENES

NAMES = tuple(PARAMETERS)
INITIAL = {name: parameter.initial for name, parameter in PARAMETERS.items()}


def test_free_numbers_give_back_the_values():
    free = parameters.to_free(NAMES, INITIAL)
    back = parameters.to_physical(NAMES, jnp.asarray(free))
    np.testing.assert_allclose(back, list(INITIAL.values()), rtol=1e-12, atol=1e-15)


def test_values_never_leave_their_bounds():
    for extreme in (-1e6, 1e6):
        values = parameters.to_physical(NAMES, jnp.full(len(NAMES), extreme))
        for value, parameter in zip(values, PARAMETERS.values(), strict=True):
            assert parameter.lower <= value <= parameter.upper


def test_a_unit_step_at_the_middle_is_the_scale():
    slope = jnp.diagonal(
        jax.jacfwd(lambda x: parameters.to_physical(NAMES, x))(jnp.zeros(len(NAMES)))
    )
    np.testing.assert_allclose(slope, [p.scale for p in PARAMETERS.values()], rtol=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_every_parameter_changes_the_model_and_nothing_else(name: str):
    model, _ = SCENES["cube-toss"](jax.random.key(0))
    low, high = (
        parameters.apply(model, (name,), jnp.asarray([value]))
        for value in (PARAMETERS[name].lower, PARAMETERS[name].upper)
    )
    changed = [
        not np.array_equal(a, b)
        for a, b in zip(jax.tree.leaves(low), jax.tree.leaves(high), strict=True)
    ]
    assert sum(changed) == 1


def test_the_ground_moves_and_the_cube_does_not():
    model, _ = SCENES["cube-toss"](jax.random.key(0))
    moved = parameters.apply(model, ("ground_height",), jnp.asarray([0.01]))
    np.testing.assert_allclose(
        moved.shapes.position - model.shapes.position, [[0, 0, 0.01], [0] * 3]
    )
    tilted = parameters.apply(model, ("ground_tilt_x",), jnp.asarray([0.1]))
    np.testing.assert_allclose(
        tilted.shapes.quaternion[0], [np.cos(0.05), np.sin(0.05), 0, 0], atol=1e-12
    )
    np.testing.assert_array_equal(tilted.shapes.quaternion[1], model.shapes.quaternion[1])


@pytest.mark.parametrize("names", [("frictoin",), (), ("friction", "friction")])
def test_unknown_names_are_refused_with_the_list(names: tuple[str, ...]):
    with pytest.raises(ValueError, match="choose among friction, restitution"):
        parameters.known(names)


def test_a_start_outside_the_bounds_is_refused():
    with pytest.raises(ValueError, match="friction = 9 must lie strictly between"):
        parameters.to_free(("friction",), {"friction": 9.0})
