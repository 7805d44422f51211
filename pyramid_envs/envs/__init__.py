"""The games as environments of PettingZoo, Gymnasium and stable-baselines3."""
