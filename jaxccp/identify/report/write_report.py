"""The report of a fit: a page, its numbers, and the identified model as a file."""

from collections.abc import Sequence
from pathlib import Path

from jaxccp.identify.excitation.result import Excitation
from jaxccp.identify.fit import Fit
from jaxccp.identify.report.as_json import fit_as_json, write_json
from jaxccp.identify.report.curves import curves_of
from jaxccp.identify.report.html_page import page
from jaxccp.identify.report.next_recording import next_as_json
from jaxccp.identify.report.write_model import write_identified
from jaxccp.identify.uncertainty.profile import Profile
from jaxccp.io.errors import InputError
from jaxccp.io.mjcf.load import Loaded
from jaxccp.io.output import write_file
from jaxccp.names import unused


def write_report(
    fit: Fit,
    folder: Path,
    profiles: Sequence[Profile] = (),
    planned: Excitation | None = None,
) -> tuple[Path, ...]:
    """Write the report of a fit to a folder: ``report.html``, ``fit.json`` and the identified
    models.

    Each model that was loaded from a file is written as ``NAME_identified.xml``, one from a URDF
    file also as ``.urdf``. If it cannot be, a note in ``fit.json`` and on the page says why.

    Args:
        fit: the fit.
        folder: folder for the files; it is made if it does not exist.
        profiles: profile likelihoods to be shown (``fit.profile``).
        planned: motion to record next (``fit.excite``), which is shown and written to ``next.npz``.

    Returns:
        The files that were written.

    Raises:
        InputError: the folder cannot be written to.
    """
    folder = Path(folder)
    written, sentences, notes = [], [], []
    names: list[str] = []
    for case, fitted_case in enumerate(fit.problem.cases):
        mechanism = fitted_case.mechanism
        if not isinstance(mechanism, Loaded) or mechanism.reading.origin.kind != "file":
            continue
        stem = Path(mechanism.reading.origin.label).stem
        names.append(unused(stem, names))
        out = folder / f"{names[-1]}_identified.xml"
        try:
            sentences += write_identified(fit, mechanism, out, case)
        except InputError as error:
            notes.append(f"{out.name} was not written: {error}")
            continue
        written.append(out)
        if mechanism.reading.origin.urdf:
            written.append(out.with_suffix(".urdf"))
    curves = curves_of(fit)
    content = fit_as_json(fit, curves) | next_as_json(fit, profiles, planned)
    if notes:
        content["notes"] += notes
    title = f"Identification of {', '.join(names) or 'a model'}"
    text = page(fit, content, curves, title, sentences, profiles, planned).encode()
    html, numbers = folder / "report.html", folder / "fit.json"
    write_file(html, lambda file: file.write(text))
    write_json(numbers, content)
    if planned is not None:
        written.append(planned.save(folder / "next.npz"))
    return (html, numbers, *written)
