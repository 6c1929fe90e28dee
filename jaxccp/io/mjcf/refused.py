"""Elements of which nothing is taken over."""

from jaxccp.io.mjcf.findings import Findings
from jaxccp.io.mjcf.source import Source


def refuse(source: Source, findings: Findings) -> None:
    """Note all of these."""
    _bodies(source, findings)
    _others(source, findings)


def _bodies(source: Source, findings: Findings) -> None:
    m = source.m
    for body in range(m.nbody):
        label = source.label("body", body)
        if m.body_gravcomp[body]:
            findings.ignore(label, "gravity compensation is not supported")
        if m.body_mocapid[body] >= 0:
            findings.ignore(label, "motion capture is not supported", "it stays where it is")
        if len(m.body_plugin) and m.body_plugin[body] >= 0:
            findings.ignore(label, "plugins are not supported")


def _others(source: Source, findings: Findings) -> None:
    m = source.m
    if m.nflex:
        findings.ignore("deformable", "flexible bodies are not supported")
    if m.opt.enableflags & int(source.mujoco.mjtEnableBit.mjENBL_OVERRIDE):
        findings.ignore("option", "overriding contact parameters is not supported")
