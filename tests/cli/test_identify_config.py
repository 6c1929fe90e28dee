"""Check how settings of identifications are merged."""

from pathlib import Path

from jaxccp.cli.commands.model_request import ModelRequest
from jaxccp.cli.identify_config import config_of


def test_a_configuration_refines_that_of_a_fit(tmp_path: Path):
    """Tables are merged key by key, and settings of another residual are left out."""
    saved = {
        "residual": "simulate",
        "settings": {"segment": 0.1, "h": 0.01},
        "load": {"floating": True},
    }
    case = "every = 0.5}\n[[cases]]\nsettings = {h = 0.02"
    for text, settings in (
        ("settings = {h = 0.02}", {"segment": 0.1, "h": 0.02}),
        (f"settings = {{{case}}}", {"segment": 0.1, "h": 0.02, "every": 0.5}),
        ('residual = "inverse"\nsettings = {cutoff = 5.0}', {"cutoff": 5.0}),
    ):
        path = tmp_path / "fit.toml"
        path.write_text(text)
        request = ModelRequest(Path("a.xml"), (Path("d.npz"),), config=path)
        (refined,) = config_of(request, saved).cases
        assert (refined.settings, refined.load) == (settings, {"floating": True})


def test_common_settings_are_those_of_the_cases_residual(tmp_path: Path):
    path = tmp_path / "fit.toml"
    path.write_text('settings = {cutoff = 5.0}\n[[cases]]\nresidual = "inverse"')
    request = ModelRequest(Path("a.xml"), (Path("d.npz"),), config=path)
    assert config_of(request).cases[0].settings == {"cutoff": 5.0}
