"""Forms of the Delassus operator N, and what each offers to solvers (:class:`Delassus`)."""

from jaxccp.ccp.operators.band import Band
from jaxccp.ccp.operators.block_sparse import BlockSparseDelassus
from jaxccp.ccp.operators.body import BodyDelassus
from jaxccp.ccp.operators.coupled import CoupledDelassus
from jaxccp.ccp.operators.dense import DenseDelassus
from jaxccp.ccp.operators.operator import Delassus
from jaxccp.ccp.operators.repeated_rows import RepeatedDelassus, Repetition
from jaxccp.ccp.operators.sum_delassus import SumDelassus
from jaxccp.ccp.operators.whitened import WhitenedDelassus

__all__ = [
    "Band",
    "BlockSparseDelassus",
    "BodyDelassus",
    "CoupledDelassus",
    "Delassus",
    "DenseDelassus",
    "RepeatedDelassus",
    "Repetition",
    "SumDelassus",
    "WhitenedDelassus",
]
