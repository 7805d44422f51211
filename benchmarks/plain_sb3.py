"""What a user of stable-baselines3 writes who knows nothing of this package but its Gymnasium environment.

    python -m benchmarks.plain_sb3 --game treehouse --run runs/plain

MaskablePPO on environments that are stepped one after the other (``DummyVecEnv``), against random play. `benchmarks.training`
compares it with the trainers of `training`. TensorBoard shows ``wins/random`` as theirs does.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from jsonargparse import auto_cli
from numpy.typing import NDArray
from sb3_contrib import MaskablePPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.logger import configure
from stable_baselines3.common.utils import LinearSchedule
from torch import nn

import pyramid_envs as pe
from pyramid_envs.evaluation import play_match


class Played:
    """The model as an agent that draws its actions."""

    name = "model"

    def __init__(self, model: Any) -> None:
        self.model = model

    def act(
        self,
        rows: NDArray[Any],
        observations: NDArray[np.int8],
        masks: NDArray[np.bool_],
        seats: NDArray[np.int64],
        seeds: NDArray[np.uint64],
    ) -> NDArray[np.int64]:
        """See `pyramid_envs.agents.Agent`; the draws are the model's own."""
        actions: NDArray[np.int64] = self.model.predict(observations, action_masks=masks)[0]
        return actions


class Measured(BaseCallback):
    """Plays against random now and then."""

    def __init__(self, game: pe.Game, every: int, games: int) -> None:
        super().__init__()
        self.game, self.every, self.games, self.updates = game, every, games, 0

    def _on_rollout_start(self) -> None:
        if self.updates and self.updates % self.every == 0:
            match = play_match(self.game, Played(self.model), pe.make_agent("random", self.game), self.games, 1_000_000_000)
            self.logger.record("wins/random", match.win_rate.value)
        self.updates += 1

    def _on_step(self) -> bool:
        return True


def train(
    run: str,
    game: str = "treehouse",
    seed: int = 0,
    total_steps: int = 4_000_000,
    num_envs: int = 512,
    n_steps: int = 16,
    hidden: list[int] = [128, 128],  # noqa: B006  (read only, shown by --help)
    learning_rate: float = 3e-3,
    batch_size: int = 1024,
    n_epochs: int = 3,
    gae_lambda: float = 0.9,
    clip_range: float = 0.2,
    ent_coef: float = 0.005,
    eval_every: int = 10,
    eval_games: int = 1000,
) -> None:
    """Train.

    Args:
        run: the folder that the log goes to.
        game: the game, 2 seats.
        seed: of everything random.
        total_steps: decisions of the learner.
        num_envs: games side by side.
        n_steps: decisions in each of them between two updates.
        hidden: layers of the policy, and again of the value.
        learning_rate: at the start; it falls to 0 along a line.
        batch_size: decisions of one gradient step.
        n_epochs: passes over each rollout.
        gae_lambda: decay of generalised advantage estimation.
        clip_range: how far from 1 the ratio of new to old probability may push.
        ent_coef: weight of the entropy bonus.
        eval_every: updates between two evaluations.
        eval_games: games of an evaluation.
    """
    rules = pe.make_game(game)
    name = f"pyramid_envs/{rules.card.env_id}-v{rules.version}"
    model = MaskablePPO(
        "MlpPolicy",
        make_vec_env(name, num_envs, seed=seed, env_kwargs={"opponents": "random"}),
        n_steps=n_steps,
        batch_size=batch_size,
        n_epochs=n_epochs,
        gamma=1.0,
        gae_lambda=gae_lambda,
        clip_range=clip_range,
        ent_coef=ent_coef,
        learning_rate=LinearSchedule(learning_rate, 0.0, 1.0),
        policy_kwargs={"net_arch": hidden, "activation_fn": nn.ReLU},
        seed=seed,
    )
    model.set_logger(configure(run, ["tensorboard"]))
    model.learn(total_steps, callback=Measured(rules, eval_every, eval_games), log_interval=1)


if __name__ == "__main__":
    auto_cli(train, as_positional=False)
