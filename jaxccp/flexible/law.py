"""What a material stores and dissipates at a point: the contract, and laws of strains."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float


class Law:
    """The law of one point, registered with JAX: elements give a law whose numbers stand for all
    points.

    ``y`` are gradients of the position there, m vectors: of a solid those along the three
    directions of the reference (the columns of its deformation gradient), of a cable the first and
    the second along its axis. "Per volume" is per length or area where the weights of the points
    are lengths or areas.
    """

    def density(self, y: Float[Array, "m 3"]) -> Float[Array, ""]:
        """Elastic energy per volume [J/m³]."""
        raise NotImplementedError

    def dissipation(self, y: Float[Array, "m 3"], rate: Float[Array, "m 3"]) -> Float[Array, ""]:
        """Rayleigh's function per volume, half the power lost [W/m³]: a quadratic form of ``rate``
        that is never negative."""
        raise NotImplementedError

    def convex(self, y: Float[Array, "m 3"]) -> Float[Array, "m 3 m 3"]:
        """A positive semidefinite stand-in for the second derivative of :meth:`density`."""
        raise NotImplementedError

    def ratio(self, y: Float[Array, "m 3"]) -> Float[Array, ""]:
        """Volume, or length, there over that of the reference; the element is inverted below 0."""
        raise NotImplementedError

    def stiffness(self, y: Float[Array, "m 3"]) -> Float[Array, "m 3 m 3"]:
        """Second derivative of :meth:`density`."""
        return jax.hessian(type(self).density, argnums=1)(self, y)

    def viscous_slope(self, y: Float[Array, "m 3"], rate: Float[Array, "m 3"]) -> Array:
        """Derivative of :meth:`dissipation` with respect to the rate [m 3]."""
        return jax.grad(type(self).dissipation, argnums=2)(self, y, rate)

    def viscosity(self, y: Float[Array, "m 3"]) -> Float[Array, "m 3 m 3"]:
        """Second derivative of :meth:`dissipation` with respect to the rate."""
        return jax.hessian(type(self).dissipation, argnums=2)(self, y, jnp.zeros_like(y))

    def at(self, y: Float[Array, "e p m 3"], what: str, *more: Array) -> Array:
        """A method by its name at all points of all elements, whose laws this is."""
        method = getattr(type(self), what)
        return jax.vmap(jax.vmap(method))(self, y, *more)

    def slopes(self, y: Float[Array, "e p m 3"]) -> Float[Array, "e p m 3"]:
        """Derivative of :meth:`density` at all points."""
        return jax.vmap(jax.vmap(jax.grad(type(self).density, argnums=1)))(self, y)


class StrainLaw(Law):
    """½ εᵀ C ε of strains ε(y), and Kelvin and Voigt's damping: C (ε + α ε̇) is the stress."""

    moduli: Float[Array, "s s"]
    """C, positive semidefinite."""
    retardation: Float[Array, ""]
    """α [s]."""

    def strain(self, y: Float[Array, "m 3"]) -> Float[Array, " s"]:
        """ε."""
        raise NotImplementedError

    def density(self, y: Float[Array, "m 3"]) -> Float[Array, ""]:
        strain = self.strain(y)
        return 0.5 * strain @ self.moduli @ strain

    def dissipation(self, y: Float[Array, "m 3"], rate: Float[Array, "m 3"]) -> Float[Array, ""]:
        _strain, faster = jax.jvp(self.strain, (y,), (rate,))
        return 0.5 * self.retardation * faster @ self.moduli @ faster

    def convex(self, y: Float[Array, "m 3"]) -> Float[Array, "m 3 m 3"]:
        """Return the convex stiffness, that of constant slopes of the strains, ∂ε/∂yᵀ C ∂ε/∂y
        (Gauss and Newton's)."""
        slope = jax.jacfwd(self.strain)(y)
        return jnp.einsum("smi,st,tnj->minj", slope, self.moduli, slope)

    def viscosity(self, y: Float[Array, "m 3"]) -> Float[Array, "m 3 m 3"]:
        return self.retardation * self.convex(y)
