"""Check how settings of identifications are merged."""

import json
from pathlib import Path

import pytest

from jaxccp.cli.commands.model_request import ModelRequest
from jaxccp.cli.identify_config import as_table, config_of
from jaxccp.io import InputError


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


def test_a_seed_on_the_command_line_is_also_that_of_restarts(tmp_path: Path):
    path = tmp_path / "fit.toml"
    path.write_text("seed = 4\n[restarts]\nseed = 3")
    for given, seeds in ((None, (4, 3)), (9, (9, 9))):
        config = config_of(ModelRequest(Path("a.xml"), (Path("d.npz"),), config=path, seed=given))
        assert config.restarts is not None
        assert (config.seed, config.restarts.seed) == seeds


def test_common_settings_are_those_of_the_cases_residual(tmp_path: Path):
    path = tmp_path / "fit.toml"
    path.write_text('settings = {cutoff = 5.0}\n[[cases]]\nresidual = "inverse"')
    request = ModelRequest(Path("a.xml"), (Path("d.npz"),), config=path)
    assert config_of(request).cases[0].settings == {"cutoff": 5.0}


CASES = """settings = {cutoff = 8.0}
[[cases]]
model = "a.xml"
data = "a.csv"
residual = "inverse"
read = {scale = {position = 0.5}}
load = {floating = true}
[[cases]]
model = "b.xml"
data = "b.csv"
settings = {segment = 0.3}
"""


def test_an_evaluation_has_the_settings_of_each_case(tmp_path: Path):
    """Each case of a fit has its own residual, settings, readers and loader when it is evaluated;
    a configuration of other cases is refused where these differ."""
    path = tmp_path / "fit.toml"
    path.write_text(CASES)
    config = config_of(ModelRequest(config=path))
    assert [case.residual for case in config.cases] == ["inverse", "simulate"]
    saved = json.loads(json.dumps(as_table(config)))
    assert config_of(ModelRequest(config=path), saved).cases == config.cases
    # What is said of the evaluation counts more than what the fit had.
    path.write_text(CASES + "read = {scale = {position = 2.0}}")
    first, second = config_of(ModelRequest(config=path), saved).cases
    assert (first.read["scale"], second.read["scale"]) == ({"position": 0.5}, {"position": 2.0})
    with pytest.raises(
        InputError, match=r"1 of the 2 cases of the fit.*all of them in their order"
    ):
        config_of(ModelRequest(Path("a.xml"), (Path("d.npz"),)), saved)
    alike = CASES.split("residual")[0] + '[[cases]]\nmodel = "b.xml"\ndata = "b.csv"\n'
    path.write_text(alike)
    saved = as_table(config_of(ModelRequest(config=path)))
    (case,) = config_of(ModelRequest(Path("a.xml"), (Path("d.npz"),)), saved).cases
    assert case.settings == {"cutoff": 8.0}


def test_several_cases_have_models_and_data_of_their_own(tmp_path: Path):
    """MODEL or DATA on the command line would be those of every case, and count twice."""
    path = tmp_path / "fit.toml"
    path.write_text(CASES)
    for model, data in ((Path("c.xml"), ()), (None, (Path("c.csv"),))):
        with pytest.raises(InputError, match=r"several cases.*leave MODEL and DATA out"):
            config_of(ModelRequest(model, data, config=path))
