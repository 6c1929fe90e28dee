"""Define the settings of each run, one dataclass per algorithm: budgets, rates, networks."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Shac:
    """Settings of short-horizon actor-critic, and of analytic policy gradients without a critic.

    Xu et al., Accelerated Policy Learning with Parallel Differentiable Simulation, ICLR 2022,
    arXiv:2204.07137.
    """

    steps: int
    """Steps of the environment, of all copies together."""
    actors: int = 64
    horizon: int = 32
    critic: bool = True
    """Whether there is a critic; without one returns end with the horizon."""
    hidden: tuple[int, ...] = (64, 64)
    discount: float = 0.99
    trace: float = 0.95
    """λ of TD(λ)."""
    actor_rate: float = 2e-3
    critic_rate: float = 1e-3
    """Learning rates; both fall linearly to a hundredth."""
    clip: float = 1.0
    """Norm to which the actor's gradient is clipped."""
    bound: float | None = None
    """Norm to which the gradient of one copy's return with respect to its state is clipped, at each
    step."""
    epochs: int = 16
    minibatches: int = 4
    """Epochs and minibatches of the critic in every update."""
    kept: float = 0.2
    """Weight of the old target critic in an update of it."""
    deviation: float = 0.4
    """Initial standard deviation of the noise on actions, which is learned."""
    reward_scale: float = 1.0

    @property
    def batch(self) -> int:
        """Number of environment steps of an update, of all copies together."""
        return self.actors * self.horizon

    @property
    def updates(self) -> int:
        return -(-self.steps // self.batch)


@dataclass(frozen=True, kw_only=True)
class Ppo:
    """Settings of brax's PPO trainer; 64 copies × 32 steps make an update, as in :class:`Shac`."""

    steps: int
    segments: int = 4
    """Number of calls of the trainer. Each starts from the parameters of the previous one, the only
    state that the trainer takes, with fresh copies and fresh moments of Adam."""
    actors: int = 64
    horizon: int = 32
    minibatches: int = 4
    epochs: int = 8
    hidden: tuple[int, ...] = (64, 64)
    rate: float = 3e-4
    """Learning rate of the first segment; it decreases linearly from one segment to the next."""
    discount: float = 0.99
    entropy: float = 1e-3
    clip: float = 0.2
    reward_scale: float = 1.0


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The settings of both algorithms for one environment."""

    ppo: Ppo
    shac: Shac
    brax: str
    """Name of brax's most similar environment."""


SETTINGS = {
    "cartpole": Settings(
        ppo=Ppo(steps=3_000_000, rate=1e-3),
        shac=Shac(steps=1_000_000, actor_rate=5e-3),
        brax="inverted_pendulum",
    ),
    "hopper": Settings(
        ppo=Ppo(steps=1_000_000, reward_scale=0.1),
        shac=Shac(steps=1_000_000, reward_scale=0.1),
        brax="hopper",
    ),
    "ant": Settings(
        ppo=Ppo(steps=2_000_000, reward_scale=0.1, hidden=(128, 64)),
        shac=Shac(steps=500_000, horizon=8, bound=10.0, reward_scale=0.1, hidden=(128, 64)),
        brax="ant",
    ),
}
POINTS = 20
"""Number of points of a curve."""
EPISODES = 16
"""Number of episodes whose mean is a point of a curve; the policy acts without noise."""
