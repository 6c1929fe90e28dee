"""Push a box to a goal, sticking and sliding, by iLQR on the derivatives of contact.

A ball that is driven along x and y pushes a box over the ground with friction. iLQR (Tassa, Erez &
Todorov, IROS 2012, with the Gauss–Newton Hessian) linearises all steps of a push at once with
``jaxccp.linearise`` and improves it with a linear feedback on ``jaxccp.difference`` of states.

It starts in contact, since the gradient for a ball that touches nothing does not involve the box.
For the same reason it reaches goals that lie ahead, within the friction cone of the contact that it
starts with, and few others: for those, draw samples first, as experiments/push_control does. Draws
push.png.
"""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Circle, Polygon

from jaxccp import (
    Box,
    Compound,
    EulerImplicitLinearized,
    Material,
    ModelBuilder,
    Plane,
    Slide,
    Sphere,
    State,
    difference,
    linearise,
    retract,
    rollout,
    velocity_servo,
)

HALF, RADIUS, FRICTION = 0.1, 0.03, 0.4
builder, surface = ModelBuilder(), Material(friction=FRICTION)
builder.add_shape(0, Plane(), material=surface)
box = builder.add_solid(Box((HALF, HALF, 0.05)), 1.0, surface, position=(0, 0, 0.05))
at = (-HALF - RADIUS, 0.0, 0.05)
ball = builder.add_solid(Sphere(RADIUS), 0.5, surface, position=at)
builder.add_joint(Compound((Slide((1, 0, 0)), Slide((0, 1, 0)))), 0, ball, at, name="drive")
for axis in ("drive.0", "drive.1"):  # a control is a velocity [m/s]
    builder.add_actuator(velocity_servo(damping=200.0), axis)
model, start = builder.build(max_contacts=5)
stepper = EulerImplicitLinearized(2e-2, law="ncp")

GOAL, STEPS, ITERATIONS = (0.3, 0.1), 60, 6
SHARES = 0.5 ** jnp.arange(6)
"""Fractions of the step that the linear model suggests: all are tried, the best is taken."""


def residuals(state: State, control: jax.Array, weight: jax.Array, goal: jax.Array) -> jax.Array:
    """Return the residuals of a step: position error, control, and distance of the ball from the
    box, which keeps the ball close.

    Args:
        state: state after the step.
        control: velocity command of the ball [m/s], shape (2,).
        weight: weight of the position error.
        goal: goal of the box [m], shape (2,).
    """
    place = state.position[:, :2]
    approach = 0.05 * (place[ball] - place[box])
    return jnp.concatenate([weight * (place[box] - goal), 0.05 * control, approach])


def weights(steps: int) -> jax.Array:
    """Return the weights of the position error: the last step has the largest."""
    return jnp.ones(steps).at[-1].set(30.0)


def cost(states: State, controls: jax.Array, goal: jax.Array) -> jax.Array:
    """Return the cost of a push.

    Args:
        states: states after each step.
        controls: velocity commands of the steps [m/s].
        goal: goal of the box [m], shape (2,).
    """
    every = jax.vmap(residuals, (0, 0, 0, None))
    return 0.5 * jnp.sum(every(states, controls, weights(len(controls)), goal) ** 2)


@jax.jit
def pushed(state: State, controls: jax.Array) -> State:
    """Return the states before the first step and after each."""
    path = rollout(model, state, stepper, len(controls), controls=controls)[1].state
    return jax.tree.map(lambda first, rest: jnp.concatenate([first[None], rest]), state, path)


@jax.jit
def improved(
    states: State, controls: jax.Array, goal: jax.Array
) -> tuple[State, jax.Array, jax.Array]:
    """Return a better push after one iteration, its controls and its cost.

    Args:
        states: states before the first step and after each.
        controls: velocity commands of the steps [m/s].
        goal: goal of the box [m], shape (2,).
    """
    before = jax.tree.map(lambda leaf: leaf[:-1], states)
    after = jax.tree.map(lambda leaf: leaf[1:], states)
    lines = jax.vmap(partial(linearise, model, stepper=stepper))(before, controls)

    def off(change: jax.Array, control: jax.Array, state: State, weight: jax.Array) -> jax.Array:
        return residuals(retract(model, state, change), control, weight, goal)

    still = jnp.zeros(lines.A.shape[-1])
    weight = weights(len(controls))
    r = jax.vmap(residuals, (0, 0, 0, None))(after, controls, weight, goal)
    rx, ru = jax.vmap(partial(jax.jacfwd(off, (0, 1)), still))(controls, after, weight)

    def backwards(value: tuple, step: tuple) -> tuple[tuple, tuple]:
        """Return gradient and Hessian of the remaining cost before a step, from those after it, and
        the step's shift and feedback."""
        (gradient, hessian), (A, B, r, rx, ru) = value, step
        gradient, hessian, cross = gradient + rx.T @ r, hessian + rx.T @ rx, rx.T @ ru
        inverse = jnp.linalg.inv(B.T @ hessian @ B + ru.T @ ru + B.T @ cross + cross.T @ B)
        feedback = -inverse @ (B.T @ hessian + cross.T) @ A
        shift = -inverse @ (B.T @ gradient + ru.T @ r)
        curvature = A.T @ hessian @ (A + B @ feedback) + A.T @ cross @ feedback
        slope = A.T @ (gradient + (hessian @ B + cross) @ shift)
        return (slope, curvature), (shift, feedback)

    value, steps = (
        (jnp.zeros_like(still), jnp.zeros_like(lines.A[0])),
        (lines.A, lines.B, r, rx, ru),
    )
    _, (shift, feedback) = jax.lax.scan(backwards, value, steps, reverse=True)

    def tried(share: jax.Array) -> tuple[jax.Array, State, jax.Array]:
        def step(carry, plan):
            reference, control, shift, feedback = plan
            control = control + share * shift + feedback @ difference(model, reference, carry.state)
            carry, _ = stepper.advance(model, carry, None, control)
            return carry, (carry.state, control)

        first = jax.tree.map(lambda leaf: leaf[0], states)
        plan = (before, controls, shift, feedback)
        _, (path, better) = jax.lax.scan(step, stepper.init(model, first), plan)
        path = jax.tree.map(lambda head, rest: jnp.concatenate([head[None], rest]), first, path)
        return cost(jax.tree.map(lambda leaf: leaf[1:], path), better, goal), path, better

    costs, paths, candidates = jax.vmap(tried)(jnp.append(SHARES, 0.0))
    best = jnp.argmin(costs)
    return jax.tree.map(lambda leaf: leaf[best], paths), candidates[best], costs[best]


def main() -> None:
    goal = jnp.asarray(GOAL)
    controls = jnp.tile(jnp.array([0.2, 0.0]), (STEPS, 1))  # straight on
    states = pushed(start, controls)
    for iteration in range(ITERATIONS):
        states, controls, left = improved(states, controls, goal)
        print(f"{iteration:2d}  cost {left:.5f}")
    miss = jnp.linalg.norm(states.position[-1, box, :2] - goal)
    print(f"the box ends {1e3 * miss:.1f} mm from the goal")
    draw(states)


def draw(states: State) -> None:
    figure = Figure(figsize=(5, 4), layout="constrained")
    axes = figure.subplots()
    corners = HALF * np.array([[1, 1], [-1, 1], [-1, -1], [1, -1]])
    for k in np.linspace(0, STEPS, 6).astype(int):
        w, _, _, z = np.asarray(states.quaternion[k, box])
        heading = 2 * np.arctan2(z, w)
        rotation = np.array(
            [[np.cos(heading), -np.sin(heading)], [np.sin(heading), np.cos(heading)]]
        )
        place = np.asarray(states.position[k, :, :2])
        axes.add_patch(Polygon(corners @ rotation.T + place[box], fill=False, ec="C0"))
        axes.add_patch(Circle(tuple(place[ball]), RADIUS, color="C1", alpha=0.5))
    axes.plot(*np.asarray(states.position[:, box, :2]).T, color="C0")
    axes.plot(*GOAL, "*", color="C2", markersize=14)
    axes.set(xlabel="x [m]", ylabel="y [m]", aspect="equal")
    axes.autoscale_view()
    figure.savefig("push.png")


if __name__ == "__main__":
    main()
