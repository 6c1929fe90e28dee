"""Sites of a file: frames on bodies, by name."""

from jaxccp.io.mjcf.elements.bodies import BodyMap
from jaxccp.io.mjcf.files.source import Source
from jaxccp.scene.builder import ModelBuilder


def add_sites(source: Source, builder: ModelBuilder, body_map: BodyMap) -> None:
    """Add the file's sites to a builder, in their order; sites without a name are named ``site 3``
    and so on.

    Args:
        source: the compiled file.
        builder: the builder.
        body_map: places of the file's bodies in the model.
    """
    m = source.m
    for site in range(m.nsite):
        body = int(m.site_bodyid[site])
        pose = body_map.pose(body, m.site_pos[site], m.site_quat[site])
        name = source.name("site", site) or source.unused_name("site", f"site {site}")
        builder.add_site(int(body_map.body[body]), *pose, name=name)
