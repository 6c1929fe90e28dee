"""Elements of a file that are never supported."""

from jaxccp.io.mjcf.elements.cables import is_link
from jaxccp.io.mjcf.files.source import Source
from jaxccp.io.mjcf.import_report import ImportReport


def note_unsupported(source: Source, report: ImportReport) -> None:
    """Note the elements of a file that are never supported."""
    _bodies(source, report)
    _options(source, report)


def _bodies(source: Source, report: ImportReport) -> None:
    m = source.m
    compensated = source.has_passive_forces and any(source.gravity)
    for body in range(m.nbody):
        label = source.label("body", body)
        if compensated and m.body_gravcomp[body] and m.body_treeid[body] >= 0:
            report.ignore(label, "gravity compensation is not supported")
        if len(m.body_plugin) and m.body_plugin[body] >= 0 and not is_link(source, body):
            report.ignore(label, "plugins are not supported")


def _options(source: Source, report: ImportReport) -> None:
    m = source.m
    if m.opt.enableflags & int(source.mujoco.mjtEnableBit.mjENBL_OVERRIDE):
        report.ignore("option", "overriding contact parameters is not supported")
