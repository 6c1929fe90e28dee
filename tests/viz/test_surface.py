"""Check flexible bodies in the browser."""

import base64
import re
from collections import Counter

import jax
import numpy as np
import pytest

from jaxccp import box_of_tetrahedra
from jaxccp.model import Model, State
from jaxccp.scene import ModelBuilder
from jaxccp.viz.skin import STRETCHED, family_bodies

pytest.importorskip("viser")

import msgspec
import viser
import zstandard

from jaxccp.viz.browser import html
from jaxccp.viz.replay import Replay, replay
from jaxccp.viz.surface import SHADES, surface

LONGER = 0.1


def bodies() -> tuple[Model, State]:
    """Return a block and a cable of two elements."""
    builder = ModelBuilder()
    builder.add_soft_solid(*box_of_tetrahedra((0.1, 0.1, 0.1), (1, 1, 1)), 1e5, 0.3, 1000.0)
    builder.add_cable([[0, 0, 1], [1, 0, 1], [2, 0, 1]], 0.01, 1e6, 1000.0)
    return jax.device_get(builder.build())


def stretching() -> Replay:
    """Return a motion in which the cable's first element grows by a tenth, the second shrinks, and
    the block grows."""
    model, state = bodies()
    block, cable = family_bodies(model)
    times = np.linspace(0.0, 0.2, 7)
    position = np.repeat(np.asarray(state.position)[None], len(times), axis=0)
    part = times / times[-1]
    position[:, cable[1], 0] += LONGER * part
    position[:, block] *= 1 + LONGER * part[:, None, None]
    quaternion = np.repeat(np.asarray(state.quaternion)[None], len(times), axis=0)
    return replay(model, times, position, quaternion)


def test_meshes_and_lines_follow_the_nodes() -> None:
    """Meshes and lines follow the nodes; at the end what grew is of the darkest red, what shrank of
    the darkest blue."""
    shown = stretching()
    server = viser.ViserServer(host="127.0.0.1", port=0, verbose=False)
    try:
        drawn = surface(server.scene, shown, 1.0)
        assert drawn is not None and len(drawn.meshes) == SHADES
        drawn.show(shown.position[0])
        visible = [mesh for mesh in drawn.meshes if mesh.visible]
        assert visible == [drawn.meshes[SHADES // 2]] and len(visible[0].faces) == 12
        end = shown.position[-1]
        drawn.show(end)
        visible = [mesh for mesh in drawn.meshes if mesh.visible]
        assert visible == [drawn.meshes[-1]]
        corners = visible[0].vertices[visible[0].faces.reshape(-1)]
        low, high = end[drawn.nodes].min(axis=0), end[drawn.nodes].max(axis=0)
        np.testing.assert_allclose(corners.min(axis=0), low, atol=1e-6)
        np.testing.assert_allclose(corners.max(axis=0), high, atol=1e-6)
        np.testing.assert_allclose(drawn.lines.points, end[drawn.ends], atol=1e-6)
        red, blue = (np.round(255 * np.array(STRETCHED(end)[:3])) for end in (1.0, 0.0))
        np.testing.assert_array_equal(drawn.lines.colors[:, 0], [red, blue])
    finally:
        server.stop()


def test_a_page_has_them_at_all_instants() -> None:
    """The page has new vertices and points for each picture after the first."""
    embedded = re.search(r'__VISER_EMBED_DATA__="([^"]+)"', html(stretching()))
    assert embedded is not None
    inner = zstandard.ZstdDecompressor().decompress(base64.b64decode(embedded[1])[8:])
    size = int.from_bytes(inner[:8], "little")
    messages = msgspec.msgpack.decode(inner[8 : 8 + size])["messages"]
    changed = Counter()
    for at, message in messages:
        if at > 0 and message.get("name", "").startswith("/flexible/"):
            changed.update((at, key) for key in message.get("updates", ()))
    times = sorted({at for at, _ in changed})
    assert len(times) == 6
    assert all(changed[at, "points"] == 1 and changed[at, "vertices"] >= 1 for at in times)
