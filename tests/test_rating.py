"""Ratings: known answers, the highest likelihood there is, ties, the anchor, and intervals that hold."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from pyramid_envs.evaluation.rating import IMAGINED, SCALE, Contests, log_likelihood, maximise


def wins_of(contests: Contests, one: int, other: int, wins: int, losses: int, ties: int = 0) -> None:
    """Add games of two agents, the one always in seat 0; every game has a seed of its own."""
    payoffs = np.array([[1.0, -1.0]] * wins + [[-1.0, 1.0]] * losses + [[0.0, 0.0]] * ties)
    contests.add([one, other], payoffs, np.arange(len(payoffs)))


def chances(strengths: np.ndarray) -> np.ndarray:
    powers = 10 ** (strengths / 400)
    return powers / powers.sum()


def play(ratings: list[float], lineup: list[int], games: int, dice: np.random.Generator) -> np.ndarray:
    """Payoffs of games with one winner each, drawn as the model says."""
    first = dice.choice(len(lineup), size=games, p=chances(np.array([ratings[agent] for agent in lineup])))
    payoffs = np.full((games, len(lineup)), -1 / (len(lineup) - 1))
    payoffs[np.arange(games), first] = 1.0
    return payoffs


@pytest.mark.parametrize(("wins", "losses", "ties"), [(30, 10, 0), (10, 30, 0), (20, 10, 10), (5, 5, 0), (0, 0, 8), (40, 0, 0)])
def test_two_agents_are_as_far_apart_as_the_odds_of_their_games(wins: int, losses: int, ties: int) -> None:
    contests = Contests(2, 40)
    wins_of(contests, 1, 0, wins, losses, ties)
    half = (ties + IMAGINED) / 2
    expected = 400 * math.log10((wins + half) / (losses + half))
    assert contests.rate(0, resamples=0).values == pytest.approx([0, expected], abs=1e-6)


def test_what_was_paid_counts_by_its_order_alone() -> None:
    small, large = Contests(3, 2), Contests(3, 2)
    small.add([0, 1, 2], np.array([[0.25, 0.25, -0.5], [1.0, -0.5, -0.5]]), np.arange(2))
    large.add([0, 1, 2], np.array([[7.0, 7.0, 2.0], [3.0, 0.0, 0.0]]), np.arange(2))
    assert small.rate(0, 0).values == pytest.approx(large.rate(0, 0).values)


@pytest.mark.parametrize("num_seats", [2, 3, 4])
def test_no_other_ratings_have_a_higher_likelihood(num_seats: int) -> None:
    dice = np.random.default_rng(num_seats)
    agents = np.array([*itertools.combinations(range(4), num_seats)])
    seats = np.ones(agents.shape)
    seats[0, 0] = 2
    places = dice.integers(1, 20, agents.shape).astype(float)
    best = maximise(agents, seats, places, np.zeros(4), np.array([1, 2, 3]))
    assert best[0] == 0
    highest = log_likelihood(agents, seats, places, best)

    def by_hand(strengths: np.ndarray) -> float:
        total = 0.0
        for k, members in enumerate(agents):
            powers = seats[k] * np.exp(strengths[members])
            total += float((places[k] * np.log(powers / powers.sum())).sum())
        return total

    assert highest == pytest.approx(by_hand(best))
    for scale in (1e-4, 1e-2, 1.0):
        for _ in range(200):
            other = best + np.array([0, *dice.normal(0, scale, 3)])
            assert by_hand(other) < highest
    # From anywhere else the search comes to the same place.
    again = maximise(agents, seats, places, np.array([0, *dice.normal(0, 8, 3)]), np.array([1, 2, 3]))
    assert again == pytest.approx(best, abs=1e-6)


@pytest.mark.parametrize("num_seats", [2, 3, 4])
def test_ratings_that_games_were_drawn_with_are_found_again(num_seats: int) -> None:
    truth = [0.0, -80.0, 120.0, 300.0]
    dice = np.random.default_rng(0)
    contests = Contests(4, 4000)
    for group in itertools.combinations(range(4), num_seats):
        contests.add(list(group), play(truth, list(group), 4000, dice), np.arange(4000))
    found = contests.rate(0, resamples=200)
    assert found.values == pytest.approx(truth, abs=20)
    assert (found.lows <= found.values).all()
    assert (found.values <= found.highs).all()
    assert 5 < (found.highs - found.lows)[1:].mean() < 60


def test_an_agent_in_two_seats_is_first_twice_as_easily() -> None:
    contests = Contests(2, 3000)
    contests.add([0, 1, 1], play([0.0, 0.0], [0, 1, 1], 3000, np.random.default_rng(1)), np.arange(3000))
    assert contests.rate(0, 0).values == pytest.approx([0, 0], abs=25)


def test_second_and_third_of_three_are_told_apart_where_payoffs_tell_them() -> None:
    known, unknown = Contests(3, 60), Contests(3, 60)
    known.add([0, 1, 2], np.tile([1.0, 0.0, -1.0], (60, 1)), np.arange(60))
    unknown.add([0, 1, 2], np.tile([1.0, -0.5, -0.5], (60, 1)), np.arange(60))
    first, second, third = known.rate(0, 0).values
    assert first > second > third
    first, second, third = unknown.rate(0, 0).values
    assert first > second == pytest.approx(third)


def test_winners_who_share_a_game_are_rated_alike_and_above_its_loser() -> None:
    contests = Contests(3, 50)
    contests.add([0, 1, 2], np.tile([0.25, 0.25, -0.5], (50, 1)), np.arange(50))
    zero, one, two = contests.rate(0, 0).values
    assert one == pytest.approx(zero, abs=1e-6)
    assert two < -300


def test_another_anchor_moves_all_ratings_alike() -> None:
    dice = np.random.default_rng(3)
    contests = Contests(3, 500)
    for pair in itertools.permutations(range(3), 2):
        contests.add(list(pair), play([0.0, 100.0, 250.0], list(pair), 500, dice), np.arange(500))
    one, other = contests.rate(0, 50), contests.rate(2, 50)
    assert one.values[0] == one.lows[0] == one.highs[0] == 0
    assert other.values[2] == 0
    assert one.values - one.values[2] == pytest.approx(other.values, abs=1e-6)


def test_the_order_of_agents_seats_and_seeds_does_not_matter() -> None:
    payoffs = play([0.0, 50.0, 200.0], [0, 1, 2], 300, np.random.default_rng(4))
    straight, turned = Contests(3, 300), Contests(3, 300)
    straight.add([0, 1, 2], payoffs, np.arange(300))
    turned.add([0, 2, 1], payoffs[:, [2, 0, 1]][::-1], np.arange(300)[::-1].copy())  # now number 0 is who was 2, and 2 who was 0
    one, other = straight.rate(0, 0).values, turned.rate(2, 0).values
    assert other[[2, 1, 0]] == pytest.approx(one, abs=1e-6)


def test_agents_that_never_met_the_anchor_even_in_turn_are_not_rated() -> None:
    contests = Contests(5, 10)
    wins_of(contests, 0, 1, 6, 4)
    wins_of(contests, 1, 2, 6, 4)
    wins_of(contests, 3, 4, 6, 4)
    found = contests.rate(0, 20)
    assert np.isfinite(found.values).tolist() == [True, True, True, False, False]
    assert np.isfinite(found.lows).tolist() == [True, True, True, False, False]
    assert found.values[2] < found.values[1] < 0


def test_agents_that_played_nothing_are_not_rated() -> None:
    found = Contests(2, 1).rate(0, 10)
    assert found.values[0] == 0
    assert math.isnan(found.values[1])


def test_games_of_a_seed_count_once_for_the_interval() -> None:
    """The same games four times over, on the same seeds, say no more than once."""
    payoffs = play([0.0, 100.0], [0, 1], 200, np.random.default_rng(5))
    once, often, independent = Contests(2, 200), Contests(2, 200), Contests(2, 800)
    once.add([0, 1], payoffs, np.arange(200))
    for k in range(4):
        often.add([0, 1], payoffs, np.arange(200))
        independent.add([0, 1], payoffs, np.arange(200) + 200 * k)
    widths = [float(np.subtract(found.highs, found.lows)[1]) for found in (c.rate(0, 400) for c in (once, often, independent))]
    assert widths[1] == pytest.approx(widths[0], rel=0.1)
    assert widths[2] == pytest.approx(widths[0] / 2, rel=0.2)


def test_intervals_hold_the_truth_about_as_often_as_they_say() -> None:
    dice = np.random.default_rng(6)
    held = 0
    for _ in range(60):
        contests = Contests(2, 150)
        contests.add([0, 1], play([0.0, 120.0], [0, 1], 150, dice), np.arange(150))
        found = contests.rate(0, 100)
        held += bool(found.lows[1] <= 120.0 <= found.highs[1])
    assert held >= 50


def test_four_hundred_points_are_odds_of_ten_to_one() -> None:
    assert math.exp(400 / SCALE) == pytest.approx(10)
