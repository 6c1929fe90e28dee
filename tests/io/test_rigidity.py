"""Check the report of springs that become rigid here, and fluids where passive forces are
disabled."""

import pytest

from jaxccp import load

mujoco = pytest.importorskip("mujoco")

BOX = """<mujoco><option density="1.2"><flag {flag}/></option><worldbody>
<geom name="floor" type="plane" size="1 1 1" {floor}/><body pos="0 0 1"><freejoint/>
<geom name="box" type="box" size=".1 .1 .1" {geom}/></body></worldbody>
<contact>{pair}</contact></mujoco>"""
PAIR = '<pair name="both" geom1="floor" geom2="box" {}/>'


def differences(softness=False, **slots) -> str:
    """Return the listed differences from MuJoCo for a box on a floor."""
    text = BOX.format(**dict.fromkeys(("flag", "floor", "geom", "pair"), "") | slots)
    return "\n".join(load(text, softness=softness).approximated)


@pytest.mark.parametrize(
    ("slots", "words"),
    [
        ({"geom": 'solref="-1000 -10"'}, ("'box'", "a spring of that stiffness")),
        ({"geom": 'solref="-1000 0"'}, ("'box'", "bounces without end")),
        ({"pair": PAIR.format('solref="-1000 0"')}, ("'both'", "bounces without end")),
        ({"pair": PAIR.format('margin=".01"')}, ("'both'", "margin")),
        ({"pair": PAIR.format('gap=".01"')}, ("'both'", "gap")),
    ],
)
def test_springs_margins_and_gaps_are_listed(slots, words):
    text = differences(**slots)
    assert all(word in text for word in words)


def test_ordinary_contacts_are_not_listed():
    assert differences(geom='solref=".01 1"') == ""
    assert "stiffness" not in differences(softness=True, geom='solref="-1000 -10"')


@pytest.mark.parametrize("solref", [".02 0", "0 1", "-1000 1"])
def test_numbers_of_both_signs_are_the_default(solref):
    assert differences(geom=f'solref="{solref}"', pair=PAIR.format(f'solref="{solref}"')) == ""


FLEX = """<mujoco><worldbody><geom type="plane" size="1 1 1"/><flexcomp name="rope" type="grid"
dim="1" count="3 1 1" spacing=".1 .1 .1" pos="0 0 1" mass=".3"><edge stiffness="300"/>
<contact contype="{on}" conaffinity="{on}" solref="{solref}"/></flexcomp></worldbody></mujoco>"""


def test_contacts_of_flexible_bodies_are_listed():
    """Their stiffness is listed, and that they stay hard where geoms are softened."""

    def listed(softness: bool, solref: str = "-1000 -10", on: int = 1) -> str:
        text = FLEX.format(solref=solref, on=on)
        return "\n".join(load(text, softness=softness).approximated)

    assert "'rope': solref -1000 -10: its contact is a spring" in listed(False)
    assert "'rope': solref -1000 -10: its contact is a spring" in listed(True)
    assert "'rope': softness: its contacts" in listed(True, ".02 1")
    assert "soft" not in listed(False, ".02 1") and "solref" not in listed(False, ".02 1")
    assert listed(True, on=0) == ""


def test_no_fluid_without_passive_forces():
    """A model has no fluid where springs and dampers are both disabled, because MuJoCo then leaves
    out all passive forces."""
    for flag, fluid in (('spring="disable"', True), ('spring="disable" damper="disable"', False)):
        text = BOX.format(flag=flag, floor="", geom="", pair="")
        m = mujoco.MjModel.from_xml_string(text)
        data = mujoco.MjData(m)
        data.qvel[:] = 1.0
        mujoco.mj_forward(m, data)
        assert bool((data.qfrc_passive != 0).any()) == fluid
        assert (load(text).model.fluid is not None) == fluid
