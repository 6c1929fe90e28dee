"""``solve`` as one program: called as it is, it is hundreds of a single operation each."""

import jax

import jaxccp.ccp

solve = jax.jit(jaxccp.ccp.solve, static_argnames=("solver", "law", "stop"))
