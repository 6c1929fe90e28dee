"""Elements of which nothing is taken over."""

import numpy as np

from jaxccp.io.mjcf.findings import Findings
from jaxccp.io.mjcf.source import Source

TENDON_FORCES = {
    "tendon_limited": "a limit",
    "tendon_stiffness": "a spring",
    "tendon_stiffnesspoly": "a spring",
    "tendon_damping": "a damper",
    "tendon_dampingpoly": "a damper",
    "tendon_frictionloss": "dry friction",
    "tendon_armature": "inertia",
}
"""What makes a tendon more than a measured length."""


def refuse(source: Source, findings: Findings) -> None:
    """Note all of these; those without any effect on the motion are no loss."""
    _tendons(source, findings)
    _bodies(source, findings)
    _others(source, findings)


def _tendons(source: Source, findings: Findings) -> None:
    m = source.m
    for tendon in range(m.ntendon):
        spatial = int(m.wrap_type[m.tendon_adr[tendon]]) != int(source.mujoco.mjtWrap.mjWRAP_JOINT)
        kind = "spatial" if spatial else "fixed"
        acting = [
            what
            for column, what in TENDON_FORCES.items()
            if len(values := source.column(column)) and np.any(values[tendon])
        ]
        if acting:
            findings.ignore(
                source.label("tendon", tendon),
                f"{' and '.join(dict.fromkeys(acting))} on a {kind} tendon is not supported",
                "let it act on the joints" if kind == "fixed" else "",
            )


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
