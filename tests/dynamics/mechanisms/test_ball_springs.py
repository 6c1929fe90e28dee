"""Test a ball joint whose spring differs about its three axes."""

import jax.numpy as jnp
import numpy as np
import pytest

from jaxccp import ModelBuilder, Spherical, accelerations, forward_kinematics

STIFFNESSES = (2.0, 3.0, 5.0)
INERTIA = (0.1, 0.2, 0.25)


def test_each_axis_has_its_own_stiffness():
    builder = ModelBuilder(gravity=(0, 0, 0))
    body = builder.add_body(1.0, INERTIA)
    builder.add_joint(Spherical(stiffnesses=STIFFNESSES), 0, body, (0, 0, 0), name="ball")
    model, state = builder.build()
    np.testing.assert_array_equal(model.axes.stiffness, STIFFNESSES)
    for axis in range(3):
        rotation_vector = 0.3 * np.eye(3)[axis]
        posed = forward_kinematics(model, state, jnp.asarray(rotation_vector))
        computed = accelerations(model, posed).axis
        np.testing.assert_allclose(
            computed, -np.array(STIFFNESSES) / INERTIA * rotation_vector, atol=1e-12
        )


def test_numbers_that_no_spring_has_are_refused():
    for stiffnesses in ((1.0, np.nan, 2.0), (1.0, -1.0, 0.0), (1.0, np.inf, 0.0)):
        with pytest.raises(ValueError, match="Spherical: stiffnesses must be 3 finite numbers"):
            Spherical(stiffnesses=stiffnesses)
    with pytest.raises(ValueError, match="Spherical: give stiffness or stiffnesses, not both"):
        Spherical(stiffness=1.0, stiffnesses=STIFFNESSES)
