"""Run large batches of a step and of its gradient, in a process of its own that may be ended.

    python -m tests.dynamics.rollouts.batches DEVICES SIZE …

Balls of different speeds slide on a plane. Each run is announced before it starts, so that the
output shows which one hangs. The results are compared with v₀ − μ g h and its derivatives.
"""

import sys
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, PartitionSpec
from jaxtyping import Array, Float

from jaxccp.ccp import SOLVERS, Status
from jaxccp.dynamics import EulerImplicitLinearized
from jaxccp.model import Material, Plane, Sphere
from jaxccp.scene import ModelBuilder

REPEATS = 10
"""Number of runs of each program, since a deadlock does not occur in every run."""
H, G = 1e-2, 9.81


def speed_after_step(
    solver: str, friction: Float[Array, ""], speed: Float[Array, ""]
) -> tuple[Float[Array, ""], Array]:
    """Return the speed of a ball after a step [m/s] and the status of the solve.

    Args:
        solver: name of the solver in ``SOLVERS``
        friction: coefficient of friction of ball and plane
        speed: horizontal speed of the ball before the step [m/s]
    """
    builder = ModelBuilder(gravity=(0, 0, -G))
    builder.add_shape(0, Plane(), material=Material(friction=0.5))
    builder.add_solid(Sphere(0.1), 1.0, Material(friction=0.5), position=(0, 0, 0.1))
    model, state = builder.build()
    model = replace(model, shapes=replace(model.shapes, friction=jnp.stack([friction] * 2)))
    state = replace(state, velocity=state.velocity.at[1, 0].set(speed))
    stepper = EulerImplicitLinearized(H, "ncp", SOLVERS[solver]())
    after, report = stepper.step(model, state)
    return after.velocity[1, 0], report.solver.status


def main(devices: int, sizes: list[int]) -> None:
    jax.config.update("jax_num_cpu_devices", devices)
    jax.config.update("jax_enable_x64", True)
    jax.config.update("jax_disable_most_optimizations", True)
    mesh, spec = Mesh(np.array(jax.devices()), ("batch",)), PartitionSpec("batch")
    assert mesh.size == devices

    def run(function, count: int) -> list[np.ndarray]:
        friction, speed = jnp.linspace(0.1, 0.9, count), jnp.linspace(1.0, 3.0, count)[::-1]
        # Loops begin with constants: what differs between devices is only known at their end.
        sharded = jax.shard_map(
            jax.vmap(function), mesh=mesh, in_specs=spec, out_specs=spec, check_vma=False
        )
        program = jax.jit(sharded)
        for _ in range(REPEATS):
            values = jax.block_until_ready(jax.tree.leaves(program(friction, speed)))
        return [np.asarray(part) for part in (friction, speed, *values)]

    for count in sizes:
        for solver in ("newton", "auto", "admm"):
            print(f"{count} steps, {solver}", flush=True)
            friction, speed, after, status = run(
                lambda mu, v, solver=solver: speed_after_step(solver, mu, v), count
            )
            assert (status == Status.CONVERGED).all()
            np.testing.assert_allclose(after, speed - friction * G * H, atol=1e-6)
        print(f"{count} gradients", flush=True)
        grad = jax.grad(lambda mu, v: speed_after_step("admm", mu, v)[0], argnums=(0, 1))
        _, _, by_friction, by_speed = run(grad, count)
        np.testing.assert_allclose(by_friction, -G * H, atol=1e-6)
        np.testing.assert_allclose(by_speed, 1.0, atol=1e-6)
    print("done", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), [int(size) for size in sys.argv[2:]])
