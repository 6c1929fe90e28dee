"""Check the surfaces by which flexible bodies are drawn."""

import jax
import jax.numpy as jnp
import numpy as np

from jaxccp import box_of_tetrahedra
from jaxccp.flexible.ancf import SHAPES, box
from jaxccp.flexible.moduli import isotropic
from jaxccp.model import Sphere
from jaxccp.scene import ModelBuilder
from jaxccp.scenes.library import SCENES
from jaxccp.viz.mesh import normals
from jaxccp.viz.skin import family_bodies, patches


def enclosed(corners: np.ndarray) -> float:
    """Return the volume within a closed surface of patches [m³], by the divergence theorem."""
    across = np.cross(corners[:, 2] - corners[:, 0], corners[:, 3] - corners[:, 1]) / 2
    return float(np.sum(corners.mean(axis=1) * across) / 3)


def test_patches_of_blocks_enclose_them() -> None:
    """Patches enclose the volume of their block: seen from outside all have one orientation, also
    those that were triangles."""
    builder = ModelBuilder()
    builder.add_soft_solid(*box_of_tetrahedra((0.1, 0.2, 0.3), (1, 2, 2)), 1e5, 0.3, 1000.0)
    brick = box(
        SHAPES["brick_3843"], jnp.array([0.1, 0.2, 0.3]), (1, 1, 1), isotropic(1e5, 0.3)[None], 1e3
    )
    builder.add_family(brick, "brick")
    model, state = jax.device_get(builder.build())
    solid, block = family_bodies(model)
    for which in (solid, block):
        corners, _ = patches(model, state.position, which.tolist())
        spans = np.ptp(corners.reshape(-1, 3), axis=0)
        np.testing.assert_allclose(enclosed(corners), np.prod(spans), rtol=1e-6)
        assert np.isfinite(normals(corners)).all()


def test_what_is_stretched_is_red() -> None:
    """Stretched elements are red and shortened ones blue; rigid bodies have no patches."""
    builder = ModelBuilder()
    builder.add_solid(Sphere(0.1), 1.0, name="ball")
    nodes = builder.add_cable([[0, 0, 1], [1, 0, 1], [2, 0, 1]], 0.01, 1e6, 1000.0)
    model, state = jax.device_get(builder.build())
    corners, colours = patches(model, state.position, nodes)
    assert corners.shape == (2, 4, 3) and np.ptp(colours, axis=0).max() == 0
    stretched = np.array(state.position)
    stretched[nodes[1], 0] += 0.1
    _, (longer, shorter) = patches(model, stretched, nodes)
    assert longer[0] > longer[2] + 0.3 and shorter[2] > shorter[0] + 0.3
    assert patches(model, state.position, [1])[0].shape == (0, 4, 3)


def test_shells_and_beams_of_the_scenes() -> None:
    for name, count in (("cloth-on-sphere", 16), ("beam", 6), ("cable", 16)):
        model, state = jax.device_get(SCENES[name](jax.random.key(0)))
        corners, _ = patches(model, np.asarray(state.position), family_bodies(model)[0].tolist())
        assert len(corners) == count
        if name == "cloth-on-sphere":
            assert normals(corners)[:, 2].min() > 0.999
