"""Check that every attribute of MuJoCo's format that changes a compiled model changes the model
here or is named."""

import re
from functools import cache

import jax
import numpy as np
import pytest

from jaxccp import load
from jaxccp.io import InputError

mujoco = pytest.importorskip("mujoco")

BASE = """
<mujoco>
  <compiler angle="radian" {compiler}/>
  <option density=".1" {option}><flag {flag}/></option>
  <asset>
    <mesh name="wedge" vertex="0 0 0  .1 0 0  0 .1 0  0 0 .1" {mesh}/>
    <hfield name="hills" nrow="3" ncol="3" size="1 1 .1 .1" elevation="0 1 0 1 2 1 0 1 0"/>
  </asset>
  <worldbody>
    <geom name="floor" type="plane" size="2 2 1" friction="1.5"/>
    <site name="hook" pos="0 .2 2"/>
    <body name="arm" pos="0 0 1" {body}>
      <inertial pos=".1 0 .02" mass="1.3" diaginertia=".02 .03 .025" {inertial}/>
      <joint name="shoulder" axis="0 1 0" range="-1 1" stiffness="1" damping=".1" frictionloss=".1"
        {joint}/>
      <geom name="upper" type="capsule" size=".03 .1" pos=".1 0 0" {geom}/>
      <site name="grip" pos=".2 0 .1" {site}/>
      <body name="fore" pos=".3 0 0">
        <joint name="elbow" axis="0 1 .2"/>
        <geom name="lower" type="box" size=".1 .02 .03" pos=".1 0 0" quat="1 .1 .2 .3"
          friction=".5"/>
      </body>
    </body>
    <body name="crate" pos="1 0 1">
      <freejoint name="loose"/>
      <geom name="solid" type="sphere" size=".1" friction="2"/>
    </body>
    <body name="prism" pos="2 0 1">
      <freejoint/>
      <geom name="corner" type="mesh" mesh="wedge" {meshgeom}/>
    </body>
  </worldbody>
  <contact>
    <pair name="touch" geom1="upper" geom2="floor" {pair}/>
    <exclude body1="fore" body2="crate"/>
  </contact>
  <tendon>
    <fixed name="belt" range="-2 2" stiffness="1" {fixed}>
      <joint joint="shoulder" coef="1"/><joint joint="elbow" coef="-.5"/>
    </fixed>
    <spatial name="rope" range=".1 3" stiffness="3" {spatial}>
      <site site="hook"/><site site="grip"/></spatial>
  </tendon>
  <equality>
    <connect body1="crate" anchor="0 0 .3" {connect}/>
    <weld body1="prism" body2="crate" {weld}/>
    <joint joint1="shoulder" joint2="elbow" {coupled}/>
  </equality>
  <actuator>
    {actuator}
    <motor tendon="belt"/>
    <motor tendon="rope"/>
    <motor tendon="belt" gear="2"/>
  </actuator>
</mujoco>
"""
ACTUATORS = {
    "general": '<general joint="shoulder" gainprm="2" biastype="affine" biasprm="0 -1 -1" '
    'dyntype="filter" dynprm=".3" actrange="-1 1" ctrlrange="-1 1" forcerange="-1 1" {}/>',
    "motor": '<motor joint="shoulder" ctrlrange="-1 1" {}/>',
    "position": '<position joint="shoulder" kp="5" {}/>',
    "velocity": '<velocity joint="shoulder" kv="2" {}/>',
    "intvelocity": '<intvelocity joint="shoulder" kp="5" actrange="-1 1" {}/>',
    "damper": '<damper joint="shoulder" kv="2" ctrlrange="0 1" {}/>',
    "cylinder": '<cylinder joint="shoulder" {}/>',
    "muscle": '<muscle joint="shoulder" lengthrange="0 1" {}/>',
    "pid": '<pid joint="shoulder" kp="3" {}/>',
    "dcmotor": '<dcmotor joint="shoulder" motorconst=".1" resistance="2" {}/>',
}
JOINT_OR_TENDON = {
    "armature": ".2",
    "damping": ".3",
    "frictionloss": ".4",
    "margin": ".01",
    "range": "-.4 .5",
    "solimpfriction": ".8 .9 .01",
    "solreffriction": ".03 1",
    "stiffness": "2",
}
"""Attributes of joints and tendons, with a value that is not MuJoCo's default."""
SOFT = {"solimp": ".8 .9 .01", "solref": ("-100 -1", "-100 0")}
ACTUATOR = {
    "actdim": "1",
    "actearly": "true",
    "actlimited": "true",
    "actrange": "-.3 .3",
    "area": "2",
    "armature": ".1",
    "bias": "1 -2 -3",
    "biasprm": "1 -2 -3",
    "biastype": "affine",
    "body": None,
    "controller": None,
    "cogging": None,
    "cranklength": None,
    "cranksite": None,
    "ctrllimited": "true",
    "ctrlrange": "-.5 .6",
    "damping": ".2",
    "dampratio": "1",
    "delay": None,
    "diameter": ".3",
    "dynprm": ".2",
    "dyntype": "filter",
    "ffrange": "-1 1",
    "force": "10",
    "forcelimited": "true",
    "forcerange": "-.5 .6",
    "fpmax": "2",
    "fvmax": "2",
    "gainprm": "3",
    "gaintype": "muscle",
    "gear": "3",
    "imax": ".3",
    "inductance": None,
    "inheritrange": None,
    "input": None,
    "interp": None,
    "joint": "elbow",
    "jointinparent": "elbow",
    "ki": "2",
    "kp": "7",
    "kv": "3",
    "lengthrange": "0 2",
    "lmax": "2",
    "lmin": ".3",
    "lugre": None,
    "motorconst": ".2",
    "nominal": None,
    "nsample": None,
    "posrange": "-1 1",
    "range": ".7 1.1",
    "refsite": None,
    "resistance": "3",
    "saturation": None,
    "scale": "100",
    "site": None,
    "slewmax": "3",
    "slidersite": None,
    "tendon": "belt",
    "thermal": None,
    "timeconst": ".1",
    "velrange": "-2 2",
    "vmax": "2",
}
"""Attributes of actuators; None: needs further attributes, which tests of actuators have."""
VALUES: dict[str, dict] = {
    "compiler": {
        "alignfree": "true",
        "angle": "degree",
        "balanceinertia": "true",
        "boundinertia": ".05",
        "boundmass": "2",
        "eulerseq": "zyx",
        "fusestatic": "true",
        "inertiafromgeom": "true",
        "settotalmass": "7",
    },
    "option": {
        "actuatorgroupdisable": "0",
        "cone": "elliptic",
        "density": "1.2",
        "gravity": "1 2 -3",
        "impratio": "3",
        "integrator": "RK4",
        "magnetic": "1 0 0",
        "timestep": ".003",
        "viscosity": ".1",
        "wind": "1 2 3",
    },
    "flag": dict.fromkeys(
        [
            "actuation",
            "constraint",
            "contact",
            "damper",
            "equality",
            "filterparent",
            "frictionloss",
            "gravity",
            "limit",
            "spring",
        ],
        "disable",
    )
    | {"clampctrl": "disable", "override": "enable"},
    "joint": JOINT_OR_TENDON
    | {
        "actuatorfrcrange": "-.5 .6",
        "actuatorgravcomp": None,
        "axis": "0 1 1",
        "pos": ".1 0 0",
        "ref": ".2",
        "springdamper": ".1 1",
        "springref": ".3",
        "type": "slide",
        "solreflimit": "-100 -1",
        "solimplimit": ".8 .9 .01",
    },
    "geom": SOFT
    | {
        "adhesion": "1",
        "condim": "6",
        "density": "300",
        "mass": "2",
        "shellinertia": "true",
        "fluidcoef": "1 1 1 1 1",
        "fluidshape": "ellipsoid",
        "friction": ".7 .02 .001",
        "gap": ".01",
        "margin": ".01",
        "pos": ".2 0 0",
        "priority": "1",
        "quat": "1 .2 0 0",
        "size": ".04 .2",
        "solmix": "3",
        "surfacevel": "1 0 0 0 0 0",
        "type": "cylinder",
    },
    "site": {"pos": ".1 .1 .1", "quat": "1 .1 0 0"},
    "meshgeom": {"density": "500", "mass": "2"},
    "mesh": {
        "inertia": "shell",
        "scale": "1 2 3",
        "maxhullvert": "6",
        "refpos": ".1 0 0",
        "refquat": "1 .1 0 0",
    },
    "body": {"pos": "0 .1 1", "quat": "1 .1 0 0", "gravcomp": "1"},
    "inertial": {
        "fullinertia": ".02 .03 .025 .001 0 0",
        "mass": "3",
        "pos": ".2 0 0",
        "quat": "1 .1 0 0",
        "diaginertia": ".03 .03 .03",
    },
    "pair": SOFT
    | {
        "adhesion": "1",
        "condim": "6",
        "friction": ".7 .7 .01 .01 .01",
        "gap": ".01",
        "margin": ".01",
        "solreffriction": "-100 -1",
    },
    "fixed": JOINT_OR_TENDON
    | {
        "actuatorfrcrange": "-.5 .6",
        "springlength": ".3",
        "solreflimit": "-100 -1",
        "solimplimit": ".8 .9 .01",
    },
    "connect": SOFT | {"active": "false", "anchor": "0 0 .4"},
    "weld": SOFT
    | {
        "active": "false",
        "anchor": "0 0 .4",
        "relpose": ".9 0 0 1 .1 0 0",
        "torquescale": "0",
    },
    "coupled": SOFT | {"active": "false", "polycoef": ".1 2 .1 0 0"},
}
VALUES["spatial"] = VALUES["fixed"] | {"stiffness": "5"}
SCHEMA = {
    "meshgeom": "geom",
    "coupled": "joint",
}
NOT_ALONE = (
    {("general", "actdim"), ("general", "gaintype")}
    | {("muscle", item) for item in ("range", "timeconst")}
    | {("damper", "ctrlrange")}
    | {
        (kind, f"{what}limited")
        for kind in ACTUATORS
        for what in ("ctrl", "force", "act")
        if kind != "general"
    }
)
"""Attributes that MuJoCo accepts only together with others."""
NAMES = """class name user rgba group material mesh hfield width fromto axisangle euler xyaxes zaxis
geom1 geom2 body1 body2 site1 site2 joint1 joint2 childclass fitscale limited actuatorfrclimited
contype conaffinity tausmooth sleep simple mocap fuse size type"""
UNSEEN = set(NAMES.split())
"""Attributes that are not tested here: names, appearance, alternative notations of an orientation
or a range, what acts only with others (masks of contacts), and the subjects of other tests (bodies
of motion capture)."""
LOOKS = re.compile(
    r"rgba|mat|tex|vis|user|name|group|light|cam|bvh|rbound|invweight|signature|path|text|size$|"
    r"sameframe|simple|adr$|stat|nuser|nmesh|normal|uv|skin|key|meaninertia|graph|extent|center|"
    r"geom_aabb|eq_data_|weldid|njmax|nconmax|narena|nstack|length0|lengthrange|acc0|M_|D_|dof_Madr"
)
"""Fields of compiled models that repeat other fields or concern appearance only."""
HARD = re.compile(r"sol(ref|imp|mix)|impratio|opt.integrator|opt.cone")
"""Fields for the softness of constraints and the computation of steps. docs/mjcf.md describes them
once; only endless bouncing and springs of a given stiffness are reported per model."""


def variant(where: str = "", attribute: str = "", value: str = "") -> str:
    """Return the text of the file with one attribute added.

    Args:
        where: slot of the element in ``BASE``, or kind of the actuator.
        attribute: name of the attribute; empty for the file without an addition.
        value: value of the attribute.
    """
    slots = dict.fromkeys(re.findall(r"{(\w+)}", BASE), "")
    slots["actuator"] = ACTUATORS["motor"].format("")
    if where in ACTUATORS:
        text_of_attribute = f'{attribute}="{value}"' if attribute else ""
        line = ACTUATORS[where]
        if attribute:  # in the place of one that is there
            line = re.sub(rf' {attribute}="[^"]*"', "", line)
        if attribute in ("tendon", "jointinparent"):
            line = line.replace(' joint="shoulder"', "")
        slots["actuator"] = line.format(text_of_attribute)
    elif where:
        slots[where] = f'{attribute}="{value}"'
    text = BASE.format(**slots)
    if attribute and where not in ACTUATORS:
        text = _only_last(text, attribute, value)
        if attribute == "fullinertia":
            text = text.replace(' diaginertia=".02 .03 .025"', "")
    return text


def _only_last(text: str, attribute: str, value: str) -> str:
    """Return the text without the first value of an attribute that occurs twice in one element."""
    added = f' {attribute}="{value}"'
    start = text.rindex("<", 0, text.index(added))
    head, element = text[:start], text[start:]
    end = element.index(">")
    inside = re.sub(rf' {attribute}="[^"]*"', "", element[:end].replace(added, "\0"))
    return head + inside.replace("\0", added) + element[end:]


def compiled(text: str) -> dict[str, np.ndarray]:
    """Return the numeric fields of the model that MuJoCo compiles, by name."""
    m = mujoco.MjModel.from_xml_string(text)
    out = {}
    for holder, prefix in ((m, ""), (m.opt, "opt.")):
        for name in dir(holder):
            if name.startswith("_") or LOOKS.search(name):
                continue
            value = getattr(holder, name)
            if isinstance(value, np.ndarray | int | float):
                out[prefix + name] = np.asarray(value)
    return out


def ours(text: str, path) -> tuple[str, list]:
    """Return everything reported about a file, and the numbers and structure of the loaded
    model."""
    path.write_text(text)
    try:
        loaded = load(path, allow_unsupported=True)
    except InputError as error:
        return str(error), []
    messages = "\n".join([*loaded.ignored, *loaded.approximated])
    parts = (loaded.model, loaded.layout, loaded.sensors, loaded.timestep, loaded.state)
    leaves, tree = jax.tree.flatten(parts)
    return messages, [*map(np.asarray, leaves), tree]


def differ(first: list, second: list) -> bool:
    """Return whether two lists of numbers differ."""
    return first[-1:] != second[-1:] or any(
        np.shape(a) != np.shape(b) or not np.array_equal(a, b, equal_nan=True)
        for a, b in zip(first[:-1], second[:-1], strict=True)
    )


@cache
def schema() -> dict[str, set[str]]:
    """Return the attributes of every element that MuJoCo knows, by element name; where several
    elements share a name, those of the one with most attributes."""
    every: dict[str, list[set[str]]] = {}
    element = ""
    for line in mujoco.mj_printSchema(False, True).splitlines():
        head = re.match(r"\s*(?:\(world\))?(\w+) \([!*?R]\)\s*(.*)", line)
        if head:
            element, line = head[1], head[2]
            every.setdefault(element, []).append(set())
        if element:
            every[element][-1].update(line.split())
    return {name: max(attributes, key=len) for name, attributes in every.items()}


def cases() -> list[tuple[str, str, str]]:
    """Return element, attribute and value of every case."""
    out = []
    for where, values in VALUES.items():
        for attribute, value in values.items():
            out += [(where, attribute, item) for item in _several(value)]
    for kind in ACTUATORS:
        for attribute in sorted(schema()[kind] & ACTUATOR.keys()):
            if (kind, attribute) not in NOT_ALONE:
                out += [(kind, attribute, item) for item in _several(ACTUATOR[attribute])]
    return out


def _several(value) -> tuple[str, ...]:
    return () if value is None else value if isinstance(value, tuple) else (value,)


@pytest.fixture(scope="module")
def bases(tmp_path_factory):
    """Return a function that gives, for each kind of actuator, MuJoCo's numbers and the report of
    the unchanged file."""
    folder = tmp_path_factory.mktemp("base")

    @cache
    def base(kind: str) -> tuple[dict, tuple[str, list]]:
        text = variant(kind)
        return compiled(text), ours(text, folder / "base.xml")

    return base


@pytest.mark.parametrize(("where", "attribute", "value"), cases())
def test_attribute_acts_or_is_named(where, attribute, value, bases, tmp_path):
    before, (messages_before, base) = bases(where if where in ACTUATORS else "motor")
    text = variant(where, attribute, value)
    try:
        after = compiled(text)
    except ValueError as error:
        pytest.fail(f"MuJoCo refuses the test's own file: {error}")
    changed = [
        name
        for name, value in after.items()
        if name not in before or not np.array_equal(value, before[name], equal_nan=True)
    ]
    messages, numbers = ours(text, tmp_path / "model.xml")
    left_out = where in ACTUATORS and "actuator 0" in messages_before
    named = left_out or messages != messages_before
    if not changed or (all(HARD.search(item) for item in changed) and value != "-100 0"):
        return
    assert named or differ(base, numbers), (
        f"{attribute}={value!r} changes {changed} and nothing here"
    )


def test_every_attribute_is_in_a_table():
    missing = []
    for where, values in VALUES.items():
        attributes = schema()[SCHEMA.get(where, where)]
        if where in ("compiler", "option", "flag", "mesh", "coupled", "meshgeom"):
            continue  # of the compiler's own, of solvers, or of several elements of one name
        missing += [f"{where}.{item}" for item in attributes - values.keys() - UNSEEN]
    for kind in ACTUATORS:
        missing += [f"{kind}.{item}" for item in schema()[kind] - ACTUATOR.keys() - UNSEEN]
    assert not missing
