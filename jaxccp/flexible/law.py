"""The interface of material laws, which give energy and dissipation at a point, and laws of
strains."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float


class Law:
    """Base class of material laws at a point, registered with JAX.

    The law of a set of elements has numbers for all their points. ``y`` are m gradients of the
    position at the point. In a solid they are the gradients along the three reference directions
    (the columns of the deformation gradient); in a cable the first and second derivatives along its
    axis. "Per volume" means per length or area if the weights of the points are lengths or areas.
    """

    def density(self, y: Float[Array, "m 3"]) -> Float[Array, ""]:
        """Return the elastic energy per volume [J/m³]."""
        raise NotImplementedError

    def dissipation(self, y: Float[Array, "m 3"], rate: Float[Array, "m 3"]) -> Float[Array, ""]:
        """Return Rayleigh's dissipation function per volume, half the dissipated power [W/m³].

        It is a nonnegative quadratic form of ``rate``.

        Args:
            y: gradients of the position.
            rate: their rates.
        """
        raise NotImplementedError

    def convex(self, y: Float[Array, "m 3"]) -> Float[Array, "m 3 m 3"]:
        """Return a positive semidefinite approximation of the second derivative of
        :meth:`density`."""
        raise NotImplementedError

    def ratio(self, y: Float[Array, "m 3"]) -> Float[Array, ""]:
        """Return the ratio of volume, area or length to that of the reference, up to a positive
        factor.

        The element is inverted where it is not positive.
        """
        raise NotImplementedError

    def stiffness(self, y: Float[Array, "m 3"]) -> Float[Array, "m 3 m 3"]:
        """Return the second derivative of :meth:`density`."""
        return jax.hessian(type(self).density, argnums=1)(self, y)

    def viscous_slope(self, y: Float[Array, "m 3"], rate: Float[Array, "m 3"]) -> Array:
        """Return the derivative of :meth:`dissipation` with respect to the rate [m 3].

        Args:
            y: gradients of the position.
            rate: their rates.
        """
        return jax.grad(type(self).dissipation, argnums=2)(self, y, rate)

    def viscosity(self, y: Float[Array, "m 3"]) -> Float[Array, "m 3 m 3"]:
        """Return the second derivative of :meth:`dissipation` with respect to the rate."""
        return jax.hessian(type(self).dissipation, argnums=2)(self, y, jnp.zeros_like(y))

    def at(self, y: Float[Array, "e p m 3"], what: str, *arguments: Array) -> Array:
        """Return the results of a method at all points of all elements.

        Args:
            y: gradients of the position.
            what: name of the method.
            *arguments: further arguments of the method, at all points.
        """
        method = getattr(type(self), what)
        return jax.vmap(jax.vmap(method))(self, y, *arguments)

    def slopes(self, y: Float[Array, "e p m 3"]) -> Float[Array, "e p m 3"]:
        """Return the derivative of :meth:`density` at all points."""
        return jax.vmap(jax.vmap(jax.grad(type(self).density, argnums=1)))(self, y)


class StrainLaw(Law):
    """The elastic law ½ εᵀ C ε of strains ε(y), with Kelvin and Voigt's damping: the stress is C (ε
    + α ε̇)."""

    moduli: Float[Array, "s s"]
    """Moduli C, positive semidefinite."""
    retardation: Float[Array, ""]
    """Retardation time α [s]."""

    def strain(self, y: Float[Array, "m 3"]) -> Float[Array, " s"]:
        """Return the strains ε at gradients y."""
        raise NotImplementedError

    def density(self, y: Float[Array, "m 3"]) -> Float[Array, ""]:
        strain = self.strain(y)
        return 0.5 * strain @ self.moduli @ strain

    def dissipation(self, y: Float[Array, "m 3"], rate: Float[Array, "m 3"]) -> Float[Array, ""]:
        _strain, faster = jax.jvp(self.strain, (y,), (rate,))
        return 0.5 * self.retardation * faster @ self.moduli @ faster

    def convex(self, y: Float[Array, "m 3"]) -> Float[Array, "m 3 m 3"]:
        """Return the stiffness ∂ε/∂yᵀ C ∂ε/∂y without the second derivatives of the strains
        (Gauss–Newton)."""
        slope = jax.jacfwd(self.strain)(y)
        flat = slope.reshape(len(slope), -1)
        # Sums of products: a library's products of such small matrices take twice as long.
        half = jnp.sum(self.moduli[:, :, None] * flat, axis=1)
        outer = jnp.sum(flat[:, :, None] * half[:, None, :], axis=0)
        return outer.reshape(*y.shape, *y.shape)

    def stiffness(self, y: Float[Array, "m 3"]) -> Float[Array, "m 3 m 3"]:
        # The viscosity uses the convex stiffness too; XLA computes it once for both.
        stress = self.moduli @ self.strain(y)
        return self.convex(y) + jax.hessian(lambda y: stress @ self.strain(y))(y)

    def viscosity(self, y: Float[Array, "m 3"]) -> Float[Array, "m 3 m 3"]:
        return self.retardation * self.convex(y)
