"""Compile ``solve`` to one program: otherwise it runs as hundreds, of one operation each."""

import jax

import jaxccp.ccp

solve = jax.jit(jaxccp.ccp.solve, static_argnames=("solver", "law", "stop"))
