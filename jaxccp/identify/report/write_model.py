"""Identified models written back as files that MuJoCo and :func:`jaxccp.load` read."""

from pathlib import Path

import numpy as np

from jaxccp.identify.fit import Fit
from jaxccp.identify.subject import Subject
from jaxccp.io.errors import InputError
from jaxccp.io.mjcf.load import Loaded, load
from jaxccp.io.mjcf.write.write import write_model
from jaxccp.io.mjcf.write.write_urdf import write_urdf
from jaxccp.model.model import Model

IDEAL = {"offset": 0.0, "scale": 1.0, "delay": 0.0}
"""Calibration of a channel without errors."""


def write_identified(
    identified: "Fit | Model", source: Loaded | Path | str, out: Path, case: int = 0
) -> tuple[str, ...]:
    """Write an identified model as MJCF; one from a URDF file is also written as URDF.

    The file is the source with other numbers. Results that a model file cannot hold (calibrations
    of channels, numbers that MuJoCo does not have, values of single recordings) are in a comment at
    its top.

    Args:
        identified: a fit, or the model of one.
        source: result of :func:`jaxccp.load` for the model's file; or the file, if it was loaded
            without options.
        out: the MJCF file to write; the URDF is beside it.
        case: number of the fit's case whose model is written.

    Returns:
        A sentence for everything that the MJCF file cannot say; those about the URDF begin with
        ``URDF:``.

    Raises:
        ValueError: ``identified`` is a model, and ``case`` is given, or a free body may have
            another centre of mass than in the source, which only the fit tells.
        InputError: the source is another mechanism than the model, or cannot be written.
    """
    loaded = source if isinstance(source, Loaded) else load(source)
    remarks: list[str] = []
    layout = loaded.layout
    if isinstance(identified, Model):
        model = identified
        if case:
            raise ValueError("a model has no cases: leave out case=, or give the fit")
    else:
        subject, remarks = _of_fit(identified, case)
        model, layout = subject.model, subject.layout
    if model.topology.bodies != loaded.model.topology.bodies:
        what = f"has the bodies {', '.join(loaded.model.topology.bodies)}, not those of the model"
        raise InputError(loaded.source, what, "give what load returned for the model's file")
    if isinstance(identified, Model) and _has_other_centres(loaded, model):
        raise ValueError(
            "the model has another inertia and other places on a free body, and does not tell "
            "where the body's frame lies about its centre of mass then: give the fit"
        )
    out = Path(out)
    sentences = write_model(loaded, model, layout, out, remarks)
    if not loaded.reading.origin.urdf:
        return sentences
    by_urdf = write_urdf(loaded, model, layout, out.with_suffix(".urdf"), remarks)
    return (*sentences, *(f"URDF: {line}" for line in by_urdf if line not in sentences))


def _has_other_centres(loaded: Loaded, model: Model) -> bool:
    """Tell whether a free body of a model may have another centre of mass than in its file: its
    inertia is another, and so are places on bodies, which are relative to their centres."""
    free, before = loaded.layout.places.free[2], loaded.model
    inertias = [np.asarray(bodies.inertia[free]) for bodies in (before.bodies, model.bodies)]
    if np.allclose(*inertias, rtol=1e-6, atol=1e-6 * np.abs(inertias[0]).max(initial=0.0)):
        return False
    pairs = (
        (before.shapes.position, model.shapes.position),
        (before.sites.position, model.sites.position),
        (before.joints.anchor, model.joints.anchor),
    )
    return not all(np.allclose(*pair, rtol=0.0, atol=1e-9) for pair in pairs)


def _of_fit(fit: Fit, case: int) -> tuple[Subject, list[str]]:
    """Return the model of a case, and sentences about results that a model file cannot hold.

    Parameters of single recordings have their initial values in it.
    """
    problem = fit.problem
    single = np.array([scalar.per_sequence for scalar in problem.scalars], bool)
    theta = np.where(single, problem.column("initial"), fit.values)
    subject = problem.subject(theta, case)
    remarks = [
        f"{name} is {value:.6g}, and is not in the file, which is about all recordings"
        for name, value, alone in zip(fit.names, fit.values, single, strict=True)
        if alone
    ]
    if float(subject.time_scale) != 1.0:
        remarks.append(f"time_scale is {float(subject.time_scale):.6g}, which no model file says")
    channels = subject.channels
    for name, ideal in IDEAL.items():
        for channel, value in zip(channels.names, np.asarray(getattr(channels, name)), strict=True):
            if value != ideal:
                text = f'channels["{channel}"].{name} is {value:.6g}, which no model file says'
                remarks.append(text)
    return subject, remarks
