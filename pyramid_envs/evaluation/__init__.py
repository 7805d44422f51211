"""How strong agents are: matches with every seat order and honest intervals."""

from pyramid_envs.evaluation.arena import Games, Match, Share, play_games, play_match, wilson

__all__ = ["Games", "Match", "Share", "play_games", "play_match", "wilson"]
