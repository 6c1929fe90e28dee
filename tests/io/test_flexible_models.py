"""Check that forces, rest and motion of flexible bodies in model files are MuJoCo's."""

from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxccp import EulerImplicitLinearized, State, Stop, equilibrium, rollout
from jaxccp.io import load
from jaxccp.io.mjcf import Loaded

mujoco = pytest.importorskip("mujoco")

SOLID = """<flexcomp name="jelly" type="grid" dim="3" count="4 3 3" spacing=".1 .1 .1" pos="0 0 2"
  radius="0.01" mass="2"><elasticity young="2e4" poisson="0.3" damping="0.01"/>{}</flexcomp>"""
SHEET = """<flexcomp name="cloth" type="grid" dim="2" count="4 4 1" spacing=".1 .1 .1" pos="0 2 2"
  radius="0.01" mass="0.2"><elasticity young="4e4" poisson="0.3" damping="0.02" thickness="0.01"
  elastic2d="stretch"/>{}</flexcomp>"""
LINE = """<flexcomp name="rope" type="grid" dim="1" count="6 1 1" spacing=".1 .1 .1" pos="0 4 2"
  radius="0.01" mass="0.3"><edge stiffness="300" damping="0.2"/>{}</flexcomp>"""
BALL = '<body name="ball" pos="0 0 4"><freejoint/><geom size="0.1"/></body>'
FACE = '<pin id="0 1 2 3 4 5 6 7 8"/>'


def world(inside: str, before: str = "", after: str = "") -> str:
    return f"<mujoco>{before}<worldbody>{inside}</worldbody>{after}</mujoco>"


@pytest.fixture
def three() -> tuple[Loaded, Any]:
    """Return a solid with one end fixed, a ball that follows it in the file, a sheet and a line,
    and MuJoCo's model."""
    text = world(SOLID.format(FACE) + BALL + SHEET.format("") + LINE.format(""))
    return load(text), mujoco.MjModel.from_xml_string(text)


def scattered(m, size: float, speed: float):
    data, rng = mujoco.MjData(m), np.random.default_rng(0)
    mujoco.mj_integratePos(m, data.qpos, size * rng.normal(size=m.nv), 1.0)
    data.qvel[:] = speed * rng.normal(size=m.nv)
    mujoco.mj_forward(m, data)
    return data


def test_masses_forces_and_damping_are_mujocos(three):
    loaded, m = three
    layout, model = loaded.layout, loaded.model
    # MuJoCo takes rates of strain from differences over a step.
    m.opt.timestep = 1e-7
    still, moving = scattered(m, 0.02, 0.0), scattered(m, 0.02, 0.3)
    mass = np.zeros((m.nv, m.nv))
    mujoco.mj_fullM(m, still, mass)
    state = layout.state(model, loaded.state, jnp.asarray(moving.qpos), jnp.asarray(moving.qvel))
    nodes = layout.places.nodes
    assert nodes.shape[1] == m.nv - 6
    for index, (family, motion) in enumerate(zip(model.families, state.families, strict=True)):
        _, _, dof, number = nodes[:, nodes[0] == index]

        def damped(v, family=family, motion=motion):
            return 0.5 * family.dissipated_power(motion.q, v)

        force = np.asarray(jax.jit(family.force)(motion.q, jnp.zeros(3)))[number]
        size = np.abs(force).max()
        np.testing.assert_allclose(force, still.qfrc_passive[dof], atol=1e-12 * size)
        slowed = force - np.asarray(jax.jit(jax.grad(damped))(motion.v))[number]
        np.testing.assert_allclose(slowed, moving.qfrc_passive[dof], atol=1e-6 * size)
        inertia = np.asarray(family.inertia())[np.ix_(number, number)]
        np.testing.assert_allclose(inertia, mass[np.ix_(dof, dof)], atol=1e-15)


def test_coordinates_go_both_ways(three):
    loaded, m = three
    data = scattered(m, 0.02, 0.3)
    state = loaded.layout.state(loaded.model, loaded.state, data.qpos, data.qvel)
    qpos, qvel = loaded.layout.coordinates(loaded.model, state)
    np.testing.assert_allclose(qpos, data.qpos, atol=1e-14)
    np.testing.assert_allclose(qvel, data.qvel, atol=1e-14)
    frame = loaded.model.topology.body("rope.3")
    number = mujoco.mj_name2id(m, int(mujoco.mjtObj.mjOBJ_BODY), "rope_3")
    np.testing.assert_allclose(state.position[frame], data.xpos[number], atol=1e-14)


HANGING = {
    "solid": world(SOLID.format(FACE)),
    "sheet": world(SHEET.format('<pin id="0 1 2 3"/>')),
    "line": world(LINE.format('<pin id="0 5"/>')),
}


@pytest.fixture(params=HANGING)
def hanging(request) -> tuple[Loaded, Any]:
    text = HANGING[request.param]
    return load(text), mujoco.MjModel.from_xml_string(text)


def body(loaded: Loaded) -> Any:
    """Return the only flexible body."""
    (family,) = loaded.model.families
    return family


def sagging(loaded: Loaded, **numbers) -> State:
    """Return the state of rest with other numbers of the elements."""
    family = body(loaded)
    family = replace(family, elements=replace(family.elements, **numbers))
    model = replace(loaded.model, families=(family,))
    return equilibrium(model, loaded.state, tolerance=1e-12).state


def lowest(loaded: Loaded, state: State) -> jax.Array:
    """Return the lowest coordinate of all nodes [m]: that of the node that has sunk most."""
    return loaded.layout.coordinates(loaded.model, state)[0].min()


def test_rest_is_mujocos(hanging):
    """MuJoCo's nodes do not accelerate in the computed state of rest."""
    loaded, m = hanging
    state = jax.jit(lambda: sagging(loaded))()
    data = mujoco.MjData(m)
    data.qpos[:] = loaded.layout.coordinates(loaded.model, state)[0]
    mujoco.mj_forward(m, data)
    assert np.abs(data.qpos).max() > 5e-3
    assert np.abs(data.qacc).max() < 1e-6 * 9.81


def test_derivatives_of_rest_are_those_of_differences():
    loaded = load(HANGING["solid"])
    family = body(loaded)
    young, damping = family.elements.young, family.elements.retardation

    @jax.jit
    def height(young):
        return lowest(loaded, sagging(loaded, young=young))

    step = 3e-4 * young
    central = (height(young + step) - height(young - step)) / (2 * step)
    np.testing.assert_allclose(jax.grad(height)(young), central, rtol=1e-6)

    @jax.jit
    def falling(damping):
        damped = replace(family, elements=replace(family.elements, retardation=damping))
        model = replace(loaded.model, families=(damped,))
        stepper = EulerImplicitLinearized(2e-3, stop=Stop(1e-10))
        return lowest(loaded, rollout(model, loaded.state, stepper, 40)[0])

    central = (falling(1.01 * damping) - falling(0.99 * damping)) / (0.02 * damping)
    np.testing.assert_allclose(jax.grad(falling)(damping), central, rtol=1e-5)


def test_motion_is_mujocos_to_first_order(hanging):
    """The motion differs from MuJoCo's by an amount that halves with the step, since both schemes
    are of first order."""
    loaded, m = hanging
    span, differences = 0.06, []
    for h in (2e-4, 1e-4):
        m.opt.timestep = h
        data = mujoco.MjData(m)
        mujoco.mj_step(m, data, round(span / h))
        stepper = EulerImplicitLinearized(h)
        run = jax.jit(rollout, static_argnames=("stepper", "steps"))
        final, _ = run(loaded.model, loaded.state, stepper=stepper, steps=round(span / h))
        qpos, _ = loaded.layout.coordinates(loaded.model, final)
        differences.append(np.abs(qpos - data.qpos).max())
    assert np.abs(data.qpos).max() > 5e-3
    assert differences[1] < 0.02 * np.abs(data.qpos).max()
    assert 1.6 < differences[0] / differences[1] < 2.4


def test_a_block_lands_on_its_nodes_and_stays():
    low = SOLID.replace('pos="0 0 2"', 'pos="0 0 0.12"').replace('count="4 3 3"', 'count="3 2 2"')
    low = low.replace('damping="0.01"', 'damping="0.05"')
    plane = '<geom type="plane" size="2 2 .1" friction="0.3 0.01 0.001"/>'
    contact = '<contact friction="0.7 0.01 0.001" selfcollide="none"/>'
    loaded = load(world(plane + low.format(contact)), max_contacts=6)
    stepper = EulerImplicitLinearized(2e-3, stop=Stop(1e-9))
    final, path = jax.jit(lambda state: rollout(loaded.model, state, stepper, 250))(loaded.state)
    assert not path.report.solver.status.any()
    height = np.asarray(path.state.position[:, loaded.model.topology.family == 0, 2])
    assert height[0].min() > 0.06 and 0.01 - 1e-6 < height[-1].min() < 0.01 + 1e-6
    assert np.abs(final.families[0].v).max() < 1e-3
    touching = loaded.model.topology.pairs
    assert sum(len(group.first) for group in touching) == 12
    np.testing.assert_allclose(loaded.model.shapes.friction, [0.3, *12 * [0.7]])
