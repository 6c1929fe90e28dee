"""Check damping that depends on the rate, of joints and tendons, against MuJoCo."""

from dataclasses import replace
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest

from jaxccp import load
from jaxccp.io import InputError
from jaxccp.io.mjcf.write.write import write_model
from tests.io.smooth_accelerations import smooth_accelerations

mujoco = pytest.importorskip("mujoco")
from experiments.mjcf import reference  # noqa: E402

XML = """
<mujoco>
  <worldbody>
    <body pos="0 0 1">
      <joint name="slide" type="slide" axis="1 0 0" damping="0.1 0 0.5"/>
      <joint name="hinge" axis="0 1 0" damping="0.2 0.3"/>
      <geom size="0.1" pos="0.2 0 0"/>
      <body pos="0.5 0 0">
        <joint type="ball" damping="1 2 3"/><geom size="0.1" pos="0.1 0.2 0"/>
      </body>
    </body>
    <body pos="0 0 3">
      <joint type="free" damping="0 0.3 0.1"/><geom type="box" size=".1 .2 .3"/>
    </body>
  </worldbody>
  <tendon><fixed damping="0.5 1 2"><joint joint="slide" coef="2"/></fixed></tendon>
</mujoco>
"""


def test_accelerations() -> None:
    if not hasattr(mujoco.MjModel, "dof_dampingpoly"):
        pytest.skip("this version of MuJoCo has no damping that depends on the rate")
    theirs = reference.smooth(XML)
    # A compiled model may have other numbers along each axis of a joint.
    theirs.dof_damping[-6:] = 0.0, 0.2, 0.3, 0.4, 0.4, 0.4
    theirs.dof_armature[-6:] = 0.0, 2.0, 3.0, 0.1, 0.1, 0.1
    theirs.dof_dampingpoly[-6] = 0.0
    mujoco.mj_setConst(theirs, mujoco.MjData(theirs))
    loaded = load(theirs)
    assert not loaded.ignored
    state = reference.random_state(theirs, np.random.default_rng(3))
    expected = reference.accelerations(theirs, *state)
    qacc = smooth_accelerations(loaded)(*state[:2])
    np.testing.assert_allclose(qacc, expected, atol=1e-9 * np.abs(expected).max())
    for dof in (3, theirs.nv - 1):
        theirs.dof_damping[dof] += 1.0
        with pytest.raises(InputError, match=r"joint \d.*the three axes of a ball.*three hinges"):
            load(theirs)
        theirs.dof_damping[dof] -= 1.0


@pytest.mark.parametrize("changed", [(), (0.0, 0.0), (3.0, 4.0)], ids=["kept", "cleared", "set"])
@pytest.mark.parametrize("name", ["tendon0", "hinge"])
def test_written_back(tmp_path: Path, name: str, changed: tuple[float, ...]) -> None:
    """The polynomial of a joint or tendon is in the file that MuJoCo reads, and stays there when
    only the damping changes."""
    if not hasattr(mujoco.MjModel, "tendon_dampingpoly"):
        pytest.skip("this version of MuJoCo has no damping that depends on the rate")
    loaded = load(XML)
    axes, linkage = loaded.model.axes, loaded.model.topology.linkage
    row = (*linkage.axes, *linkage.routing.tendons).index(name)
    axes = replace(axes, damping=axes.damping.at[row].set(0.7))
    if changed:
        polynomial = axes.damping_polynomial.at[row].set(jnp.asarray(changed))
        axes = replace(axes, damping_polynomial=polynomial)
    out = tmp_path / "out.xml"
    assert write_model(loaded, replace(loaded.model, axes=axes), loaded.layout, out) == ()
    theirs = mujoco.MjModel.from_xml_path(str(out))
    both = (theirs.tendon_damping, theirs.tendon_dampingpoly)
    if name == "hinge":
        both = (theirs.dof_damping[1:2], theirs.dof_dampingpoly[1:2])
    kept = (1.0, 2.0) if name == "tendon0" else (0.3, 0.0)
    np.testing.assert_allclose(np.hstack([both[0][:1], both[1][0]]), [0.7, *(changed or kept)])
