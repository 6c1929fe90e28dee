"""Check the picture of an identification: each panel shows another quantity, and shows it
correctly."""

import numpy as np

from jaxccp.viz import Change, TossPicture, identification_picture

TIME = np.linspace(0.01, 0.5, 50)


def figure(truth: float | None):
    measured = np.stack([TIME, 0 * TIME, 0.1 + 0 * TIME], axis=1)
    toss = TossPicture(
        *("toss 1", TIME, measured),
        before=measured + np.array([0.0, 0.003, 0.004]),
        after=measured + np.array([0.0, 0.0, 0.001]),
        angle_before=9.0 * TIME,
        angle_after=2.0 * TIME,
    )
    changes = [
        Change("friction", 0.3, 0.2, 0.01, 0.05, truth),
        Change("damping", 0.002, 0.003, np.inf, 0.001, None),
    ]
    return identification_picture([toss], {"40 samples": np.ones(5)}, changes, "title")


def test_each_column_shows_another_quantity() -> None:
    path, distance, angle = figure(0.22).axes[:3]
    labels = [ax.get_ylabel() for ax in (path, distance, angle)]
    assert labels == ["height [m]", "position error [mm]", "orientation error [°]"]
    before, after = (np.asarray(line.get_ydata(), float) for line in distance.lines)
    np.testing.assert_allclose(before, 5.0)  # of 3 mm and 4 mm across
    np.testing.assert_allclose(after, 1.0)


def test_parameters_stand_beside_their_true_values() -> None:
    panel = figure(0.22).axes[-1]
    labels = [label.get_text() for label in panel.get_yticklabels()]
    assert labels == ["friction  0.3 → 0.2  (true 0.22)", "damping  0.002 → 0.003"]
    at = {(line.get_marker(), float(np.ravel(line.get_xdata())[0])) for line in panel.lines}
    assert any(marker == "o" and np.isclose(x, -2.0) for marker, x in at)
    assert [x for marker, x in at if marker == "|" and np.isclose(x, -1.6)]
    assert "true" in legend(panel)


def test_unknown_truth_is_not_drawn() -> None:
    panel = figure(None).axes[-1]
    assert "true" not in legend(panel)
    assert not any("true" in label.get_text() for label in panel.get_yticklabels())


def legend(axes) -> list[str]:
    return [text.get_text() for text in axes.get_legend().get_texts()]
