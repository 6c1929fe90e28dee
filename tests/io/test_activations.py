"""Check activations of a file's actuators against MuJoCo, mechanics and central differences."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree

from jaxccp import EulerImplicitLinearized, Stop, accelerations, linearise, load, rollout
from jaxccp.dynamics.steppers import RungeKutta4
from jaxccp.io import Loaded
from jaxccp.model import Activation

mujoco = pytest.importorskip("mujoco")

MODEL = """
<mujoco>
  <option timestep="0.01"/>
  <worldbody>
    <body><joint name="arm" axis="0 1 0" damping="0.05"/>
      <geom type="capsule" size="0.02" fromto="0 0 0 0.3 0 0"/></body>
  </worldbody>
  <actuator>
    <general name="held" joint="arm" dyntype="integrator" gainprm="2" ctrlrange="-1 1"
      actrange="-0.05 0.05"/>
    <motor joint="arm"/>
    <general name="servo" joint="arm" dyntype="filter" dynprm="0.05" gainprm="3"
      biastype="affine" biasprm="0 -3 -0.1"/>
    <general name="exact" joint="arm" dyntype="filterexact" dynprm="0.03" gainprm="0.5"/>
  </actuator>
  <keyframe><key name="on" qpos="0.3" qvel="0.5" act="0.02 -0.2 0.7"/></keyframe>
</mujoco>
"""
H, STEPS = 0.01, 30
smooth = jax.jit(accelerations)
CONTROLS = np.random.default_rng(0).uniform(-1.5, 1.5, (STEPS, 4))


@pytest.fixture(scope="module")
def loaded() -> Loaded:
    return load(MODEL)


@pytest.fixture(scope="module")
def theirs() -> tuple:
    model = mujoco.MjModel.from_xml_string(MODEL)
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    return model, data


def test_activations_and_accelerations_are_mujocos(loaded: Loaded, theirs: tuple) -> None:
    model, data = theirs
    state = loaded.keyframe("on")
    data.ctrl[:] = CONTROLS[0]
    mujoco.mj_forward(model, data)
    control = loaded.layout.control(jnp.asarray(CONTROLS))
    qacc = loaded.layout.acceleration(state, smooth(loaded.model, state, control[0]))
    np.testing.assert_allclose(qacc, data.qacc, rtol=1e-12)
    stepper = EulerImplicitLinearized(H)
    _, path = rollout(loaded.model, state, stepper, STEPS, controls=control)
    shown = jax.vmap(loaded.layout.activation)(path.state)
    for k in range(STEPS):
        data.ctrl[:] = CONTROLS[k]
        mujoco.mj_step(model, data)
        np.testing.assert_allclose(shown[k], data.act, atol=1e-14)
    assert np.any(shown[:, 0] == 0.05)  # the integrator has come to its limit


def test_second_order_steppers_follow_the_exact_path(loaded: Loaded) -> None:
    """Activations follow ȧ = (u − a)/T exactly at a constant u, whatever the step, and the motion
    is the same in half the steps."""
    control = jnp.full((16, 4), 0.1)
    state = loaded.keyframe("on")
    ends = [
        rollout(loaded.model, state, RungeKutta4(0.08 / n), n, controls=control[:n])[0]
        for n in (8, 16)
    ]
    for end in ends:
        filtered = [0.1 + (a - 0.1) * np.exp(-0.08 / t) for a, t in ((-0.2, 0.05), (0.7, 0.03))]
        expected = [0.02 + 0.08 * 0.1, *filtered]
        np.testing.assert_allclose(np.asarray(end.activation), expected, atol=1e-14)
    coarse, fine = (end.joint_positions for end in ends)
    np.testing.assert_allclose(coarse, fine, atol=1e-6)


def test_derivatives_are_central_differences(loaded: Loaded) -> None:
    """The derivatives of the arm's final angle in initial activations, time constants and controls
    match central differences."""
    start, tau = loaded.keyframe("on"), loaded.model.activations
    assert tau is not None
    inputs = (start.activation, tau.time_constant[1:], jnp.asarray(0.1 * CONTROLS[:5]))
    flat, back = ravel_pytree(inputs)
    stepper = EulerImplicitLinearized(H, stop=Stop(1e-13))

    def end(x: jax.Array) -> jax.Array:
        activation, constants, controls = back(x)
        table = replace(tau, time_constant=tau.time_constant.at[1:].set(constants))
        model, state = (
            replace(loaded.model, activations=table),
            replace(start, activation=activation),
        )
        final, _ = rollout(model, state, stepper, 5, controls=controls)
        return final.joint_positions[0]

    both, step = jax.jit(jax.value_and_grad(end)), 1e-5
    _, slope = both(flat)
    directions = step * np.eye(len(flat))
    central = [
        (both(flat + direction)[0] - both(flat - direction)[0]) / (2 * step)
        for direction in directions
    ]
    np.testing.assert_allclose(slope, central, atol=1e-9)
    assert np.all(np.abs(np.asarray(slope)[:5]) > 1e-7)


@pytest.mark.long
def test_linearisation_has_activations(loaded: Loaded) -> None:
    """A linearisation has the activations after pose and velocity, and their known change over a
    step."""
    state = loaded.keyframe("on")
    linear = linearise(loaded.model, state, jnp.full(4, 0.1), stepper=EulerImplicitLinearized(H))
    assert linear.A.shape == (5, 5)
    kept = [1.0, 1 - H / 0.05, np.exp(-H / 0.03)]
    np.testing.assert_allclose(linear.A[2:, 2:], np.diag(kept), atol=1e-12)
    np.testing.assert_allclose(linear.B[2:, [0, 2, 3]], np.diag([H, 0.2, 1 - kept[2]]), atol=1e-12)
    np.testing.assert_allclose(linear.B[2:, 1], 0.0, atol=1e-12)
    assert np.all(np.abs(linear.A[1, 2:]) > 1e-3)


def test_models_and_states_without_activations_are_told_apart(loaded: Loaded) -> None:
    bare = replace(loaded.state, activation=None)
    with pytest.raises(ValueError, match="the model has 3 activations, but the state has none"):
        accelerations(loaded.model, bare)
    plain = replace(loaded.model, activations=None)
    assert len(jax.tree.leaves((plain, bare))) == len(jax.tree.leaves((loaded.model, bare))) - 2


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"dynamics": "muscle"}, "dynamics must be one of integrator, filter, filterexact"),
        ({"dynamics": "filter", "time_constant": 0.0}, "time_constant must be finite and > 0"),
        ({"dynamics": "filter", "limits": (1.0, 0.0)}, "limits must be"),
    ],
)
def test_impossible_activations_are_refused(wrong: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Activation(**wrong)
