"""Test every built-in scene of the registry: sound, seeded, in both precisions."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.extend.core import ClosedJaxpr

from jaxccp import EulerImplicitLinearized, rollout
from jaxccp.collision.contact_cache import contact_capacity
from jaxccp.collision.detect import detect
from jaxccp.dynamics.smooth import smooth_contacts
from jaxccp.model import Model, State
from jaxccp.scenes.library import SCENES, batch

KEY = jax.random.key(5)
COPIES = 3
MOTION = ("position", "quaternion", "velocity", "angular_velocity")


@pytest.fixture(scope="module", params=sorted(SCENES))
def copies(request: pytest.FixtureRequest) -> tuple[str, Model, State]:
    return request.param, *batch(SCENES[request.param], KEY, COPIES)


def test_starts_physically(copies: tuple[str, Model, State]) -> None:
    """Bodies do not overlap at the start, contacts have room, and quaternions have unit length."""
    _, model, states = copies
    contacts = jax.jit(jax.vmap(lambda state: detect(model, state)))(states)
    assert np.where(contacts.live, contacts.gap, 0.0).min(initial=0.0) > -1e-9
    if model.topology.smooth is not None:
        overlapping = jax.jit(jax.vmap(lambda state: smooth_contacts(model, state)))(states)
        assert overlapping.total.max() == 0
    assert contacts.total.max() <= contact_capacity(model)
    np.testing.assert_allclose(np.linalg.norm(states.quaternion, axis=-1), 1.0, atol=1e-12)


def test_key_decides(copies: tuple[str, Model, State]) -> None:
    """Copies differ, and each of them alone is the same again, model and all."""
    name, model, states = copies
    single, state = SCENES[name](jax.random.split(KEY, COPIES)[1])
    # Draws are of single precision, whose rounding is not the same in a batch.
    rounding = 4 * float(np.finfo(np.float32).eps)
    for field in MOTION:
        np.testing.assert_allclose(
            getattr(states, field)[1], getattr(state, field), rtol=rounding, atol=1e-14
        )
    for a, b in zip(jax.tree.leaves(model), jax.tree.leaves(single), strict=True):
        np.testing.assert_array_equal(a, b)
    assert any(np.ptp(getattr(states, field), axis=0).max() > 0 for field in MOTION)


def test_same_scene_in_single_precision(copies: tuple[str, Model, State]) -> None:
    name, _, double = copies
    with jax.enable_x64(False):
        model, single = SCENES[name](jax.random.split(KEY, COPIES)[1])
        assert not any(leaf.dtype == jnp.float64 for leaf in jax.tree.leaves((model, single)))
    for field in MOTION:
        np.testing.assert_allclose(getattr(single, field), getattr(double, field)[1], atol=1e-5)


@pytest.mark.parametrize("name", SCENES)
def test_both_precisions_in_one_process(name: str) -> None:
    stepper = EulerImplicitLinearized(1e-3, "ncp")
    model, state = SCENES[name](KEY)

    def program(model: Model, state: State) -> ClosedJaxpr:
        return jax.make_jaxpr(lambda m, s: rollout(m, s, stepper, 2))(model, state)

    # Held for as long as the second is made: jax would hand out the constants of the first.
    double = program(model, state)
    with jax.enable_x64(False):
        single = program(*jax.tree.map(in_single, (model, state)))
    assert "f64" in str(double) and not re.search("[fi]64", str(single))


def in_single(leaf: jax.Array) -> jax.Array:
    return leaf.astype(jnp.float32) if leaf.dtype == jnp.float64 else leaf
