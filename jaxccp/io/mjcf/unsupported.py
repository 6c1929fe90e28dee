"""Elements of which nothing is taken over."""

from jaxccp.io.mjcf.import_report import ImportReport
from jaxccp.io.mjcf.source import Source

BUILDS = {1: "add_cable", 2: "add_shell", 3: "add_soft_solid"}
"""What makes a flexible body of so many dimensions."""


def note_unsupported(source: Source, report: ImportReport) -> None:
    """Note all of these."""
    _bodies(source, report)
    _others(source, report)


def _bodies(source: Source, report: ImportReport) -> None:
    m = source.m
    for body in range(m.nbody):
        label = source.label("body", body)
        if m.body_gravcomp[body]:
            report.ignore(label, "gravity compensation is not supported")
        if len(m.body_plugin) and m.body_plugin[body] >= 0:
            report.ignore(label, "plugins are not supported")


def _others(source: Source, report: ImportReport) -> None:
    m = source.m
    for flex in range(m.nflex):
        kind, dimension = source.mujoco.mjtObj.mjOBJ_FLEX, int(m.flex_dim[flex])
        name = source.mujoco.mj_id2name(m, kind, flex) or flex
        report.ignore(
            f"flexible body {name!r}",
            "flexible bodies of files are not supported",
            f"build it by ModelBuilder.{BUILDS[dimension]}",
        )
    if m.opt.enableflags & int(source.mujoco.mjtEnableBit.mjENBL_OVERRIDE):
        report.ignore("option", "overriding contact parameters is not supported")
