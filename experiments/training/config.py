"""What each run is told: budgets, learning rates, networks. One frozen dataclass per algorithm."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Shac:
    """Short-horizon actor-critic (Xu et al., Accelerated Policy Learning with Parallel
    Differentiable Simulation, ICLR 2022, arXiv:2204.07137); analytic policy gradients without a
    critic."""

    steps: int
    """Of the environment, all copies together."""
    actors: int = 64
    horizon: int = 32
    critic: bool = True
    """False: returns end with the horizon."""
    hidden: tuple[int, ...] = (64, 64)
    discount: float = 0.99
    trace: float = 0.95
    """λ of TD(λ)."""
    actor_rate: float = 2e-3
    critic_rate: float = 1e-3
    """Learning rates; both fall linearly to a hundredth."""
    clip: float = 1.0
    """Largest norm of the actor's gradient that is taken."""
    bound: float | None = None
    """Largest norm of the slope of one copy's return in its state that is taken, at each step."""
    epochs: int = 16
    minibatches: int = 4
    """Of the critic, in every update."""
    kept: float = 0.2
    """Share of the target critic that an update keeps."""
    deviation: float = 0.4
    """Of the noise on actions at the start, which is learned."""
    reward_scale: float = 1.0

    @property
    def batch(self) -> int:
        """Steps of an update."""
        return self.actors * self.horizon

    @property
    def updates(self) -> int:
        return -(-self.steps // self.batch)


@dataclass(frozen=True, kw_only=True)
class Ppo:
    """Brax's trainer; 64 copies x 32 steps make an update, as in :class:`Shac`."""

    steps: int
    segments: int = 4
    """Calls of the trainer, each of which starts from the parameters of the one before with fresh
    copies and fresh moments of Adam: what is kept between them is all that the trainer takes."""
    actors: int = 64
    horizon: int = 32
    minibatches: int = 4
    epochs: int = 8
    hidden: tuple[int, ...] = (64, 64)
    rate: float = 3e-4
    """Learning rate of the first segment; it falls linearly from one to the next."""
    discount: float = 0.99
    entropy: float = 1e-3
    clip: float = 0.2
    reward_scale: float = 1.0


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Of one environment."""

    ppo: Ppo
    shac: Shac
    brax: str
    """Brax's environment that comes nearest."""


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
"""Of a curve."""
EPISODES = 16
"""Of which each point is the mean; the policy acts without noise."""
