"""Check inertias of links that no rigid body has, or that a URDF leaves out."""

import numpy as np
import pytest

from jaxccp.io import Loaded, load
from jaxccp.io.mjcf.urdf.inertias import DEFAULT_MASS, DEFAULT_RADIUS
from tests.io.test_urdf import BALL, HINGE, INERTIAL, JOINT, arm, link

pytest.importorskip("mujoco")


def robot(*elements: str) -> Loaded:
    return load(f'<robot name="leg">{"".join(elements)}</robot>')


UNPHYSICAL = {
    "zero": ((3, 0, 0, 0), "'leg': moves without an inertia", 3, "sphere"),
    "negative": (
        (3, -0.1, 0.2, 0.2),
        "'leg': its principal moments -0.1, 0.2, 0.2 kg",
        3,
        "sphere",
    ),
    "triangle": ((3, 0.1, 0.2, 0.6), "'leg': no rigid body has its principal moments", 3, 0.3),
    "massless": (
        (0, 0, 0, 0),
        "'leg': moves without a mass: it has 0.01 kg",
        DEFAULT_MASS,
        "sphere",
    ),
    "none": ((), "'leg': moves without a mass", DEFAULT_MASS, "sphere"),
}


@pytest.mark.parametrize("case", UNPHYSICAL)
def test_unphysical_inertias_are_replaced_and_listed(case: str) -> None:
    numbers, message, mass, moment = UNPHYSICAL[case]
    loaded = robot(*arm(leg=INERTIAL.format(*numbers) if numbers else ""))
    assert [message in line for line in loaded.approximated] == [False, True]
    leg = loaded.model.topology.body("leg")
    expected = 0.4 * mass * DEFAULT_RADIUS**2 if moment == "sphere" else moment
    assert loaded.model.bodies.mass[leg] == pytest.approx(mass)
    inertia = np.asarray(loaded.model.bodies.inertia[leg])
    np.testing.assert_allclose(np.linalg.eigvalsh(inertia), expected, rtol=1e-6)


def test_fixed_links_without_inertia_need_none() -> None:
    """A massless link that moves with one of mass needs no inertia, and masses at points that are
    fixed to each other off a line have the inertia of these points."""
    points = [(3, "0 0 0"), (1, "0 1 0"), (2, "0 0 2")]
    elements = [link("base"), link("leg"), HINGE]
    for index, (mass, place) in enumerate(points):
        point = INERTIAL.format(mass, 0, 0, 0).replace('xyz="0.1 0 0.02"', f'xyz="{place}"')
        elements.append(link(f"p{index}", point))
        elements.append(JOINT.format(f"j{index}", "fixed", "leg", f"p{index}", ""))
    loaded = robot(*elements)
    assert len(loaded.approximated) == 1
    leg = loaded.model.topology.body("leg")
    assert loaded.model.bodies.mass[leg] == pytest.approx(6)
    mass, place = np.array([3, 1, 2]), np.array([[0, 0, 0], [0, 1, 0], [0, 0, 2.0]])
    arms = place - mass @ place / 6
    spread = np.einsum("n,ni,nj->ij", mass, arms, arms)
    expected = np.trace(spread) * np.eye(3) - spread
    moments = np.linalg.eigvalsh(np.asarray(loaded.model.bodies.inertia[leg]))
    np.testing.assert_allclose(moments, np.linalg.eigvalsh(expected), rtol=1e-9)


def test_shapes_without_inertial_are_listed() -> None:
    loaded = robot(*arm(BALL, leg=""))
    assert any("'leg': without inertial" in line for line in loaded.approximated)
    leg = loaded.model.topology.body("leg")
    assert loaded.model.bodies.mass[leg] == pytest.approx(4 / 3 * np.pi * 0.05**3 * 1000)


@pytest.mark.parametrize("numbers", [(0.1, 0.7, 0.8, 0), (0.4, 0.4, 0.8004, 0.3)])
def test_rounded_moments_of_thin_plates_are_kept(numbers: tuple[float, ...]) -> None:
    """The moment across a plate is the sum of the other two; rounded, it may be a little more."""
    xx, yy, zz, xy = numbers
    inertial = INERTIAL.format(3, xx, yy, zz).replace('ixy="0"', f'ixy="{xy}"')
    loaded = robot(*arm(leg=inertial))
    assert len(loaded.approximated) == 1
    inertia = np.asarray(loaded.model.bodies.inertia[loaded.model.topology.body("leg")])
    np.testing.assert_allclose(np.linalg.eigvalsh(inertia), [0.1, 0.7, 0.8], rtol=1e-7)
