"""Sites of a file: frames on bodies, by name."""

from jaxccp.io.mjcf.elements.bodies import Frames
from jaxccp.io.mjcf.files.source import Source
from jaxccp.scene.builder import ModelBuilder


def add_sites(source: Source, builder: ModelBuilder, frames: Frames) -> None:
    """Add the file's sites to a builder, in their order; sites without a name are named ``site 3``
    and so on.

    Args:
        source: the compiled file.
        builder: the builder.
        frames: places of the file's bodies in the model.
    """
    m = source.m
    for site in range(m.nsite):
        body = int(m.site_bodyid[site])
        pose = frames.pose(body, m.site_pos[site], m.site_quat[site])
        name = source.name("site", site) or source.unused_name("site", f"site {site}")
        builder.add_site(int(frames.body[body]), *pose, name=name)
