"""Bodies, shapes, materials, joints and the state of a model; this package contains no solver."""

from jaxccp.model.actuators.activation import Activation, Activations
from jaxccp.model.actuators.actuator import Actuator, motor, position_servo, velocity_servo
from jaxccp.model.family import Family, FamilyState, FrameMap, MassRoot
from jaxccp.model.joints import (
    JOINTS,
    Ball,
    Compound,
    Cylindrical,
    Fixed,
    Hinge,
    Joint,
    Planar,
    Prismatic,
    Revolute,
    Slide,
    Spherical,
    Universal,
)
from jaxccp.model.kinematics.forward_kinematics import forward_kinematics
from jaxccp.model.kinematics.joint_motion import JointMotion, joint_motion
from jaxccp.model.linkage import Actuators, Axes, Joints, Linkage
from jaxccp.model.material import Combination, Material
from jaxccp.model.model import Bodies, ContactSettings, HeightGrid, Hull, Model, Shapes
from jaxccp.model.pair_group import PairGroup
from jaxccp.model.shapes import (
    SHAPES,
    Box,
    Capsule,
    ConvexMesh,
    Cylinder,
    Ellipsoid,
    HeightField,
    Plane,
    Sphere,
)
from jaxccp.model.sites import Site, Sites
from jaxccp.model.smooth import (
    SmoothCoefficients,
    SmoothLaws,
    SmoothMaterial,
    SmoothSurfaces,
    SmoothTopology,
)
from jaxccp.model.state import State
from jaxccp.model.structure import effective_entries, with_structure
from jaxccp.model.tendons import Coupling, Tendon, TendonPath, gear
from jaxccp.model.tendons.routing import Routing, TendonMotion, Tendons
from jaxccp.model.topology import Topology

__all__ = [
    "JOINTS",
    "SHAPES",
    "Activation",
    "Activations",
    "Actuator",
    "Actuators",
    "Axes",
    "Ball",
    "Bodies",
    "Box",
    "Capsule",
    "Combination",
    "Compound",
    "ContactSettings",
    "ConvexMesh",
    "Coupling",
    "Cylinder",
    "Cylindrical",
    "Ellipsoid",
    "Family",
    "FamilyState",
    "Fixed",
    "FrameMap",
    "HeightField",
    "HeightGrid",
    "Hinge",
    "Hull",
    "Joint",
    "JointMotion",
    "Joints",
    "Linkage",
    "MassRoot",
    "Material",
    "Model",
    "PairGroup",
    "Planar",
    "Plane",
    "Prismatic",
    "Revolute",
    "Routing",
    "Shapes",
    "Site",
    "Sites",
    "Slide",
    "SmoothCoefficients",
    "SmoothLaws",
    "SmoothMaterial",
    "SmoothSurfaces",
    "SmoothTopology",
    "Sphere",
    "Spherical",
    "State",
    "Tendon",
    "TendonMotion",
    "TendonPath",
    "Tendons",
    "Topology",
    "Universal",
    "effective_entries",
    "forward_kinematics",
    "gear",
    "joint_motion",
    "motor",
    "position_servo",
    "velocity_servo",
    "with_structure",
]
