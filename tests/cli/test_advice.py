"""Check the advice of the command line about steps that were not solved."""

import json

import pytest
from typer.testing import CliRunner

from jaxccp.cli import app
from jaxccp.cli.advice import advice

HEAVY = """<mujoco><option timestep=".002"/><worldbody><geom type="plane" size="1 1 1"/>
<body pos="0 0 .1"><freejoint/><geom type="box" size=".1 .1 .1" mass=".01"/></body>
<body pos=".01 .005 .3"><freejoint/><geom type="box" size=".1 .1 .1" mass="1000"/></body>
</worldbody></mujoco>"""


def test_options_that_are_not_taken_yet():
    assert advice(0.0, 32, "apgd") == ""
    assert advice(0.1, 32, "apgd") == "try --precision 64 --solver auto"
    assert advice(0.1, 64, "apgd") == "try --solver auto"
    assert "--dt" in advice(0.1, 64, "auto")


def test_what_is_said_helps(tmp_path):
    """Following the advice solves all steps of two boxes with a mass ratio of 1e5 under Coulomb's
    law."""
    pytest.importorskip("mujoco")
    file = tmp_path / "heavy.xml"
    file.write_text(HEAVY)
    command = ["simulate", str(file), "--law", "ncp", "--duration", "0.04", "--json"]

    def report(*options: str) -> dict:
        result = CliRunner().invoke(app, [*command, *options])
        return json.loads(result.stdout.splitlines()[-1])

    poor = report("--solver", "apgd", "--precision", "32")
    assert poor["status"]["converged"] < 0.9
    good = report(*poor["advice"].removeprefix("try ").split())
    assert good["status"]["converged"] == 1.0
    assert good["advice"] == ""
