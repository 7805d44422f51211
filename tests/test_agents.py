"""What every agent promises, and what the fixed ones play."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest

import pyramid_envs as pe
from pyramid_envs.agents import checkpoint_in, is_fixed
from pyramid_envs.agents.fixed import Adviser
from pyramid_envs.evaluation import play_match
from pyramid_envs.kernels import GRADES
from pyramid_envs.registry import card
from tests.oracles import treehouse as oracle
from tests.playing import act, decisions

NAMES = ["random", "greedy", "mcts:8", "mcts:5@", "rollouts:5@"]  # behind the @ comes the folder of a checkpoint


@pytest.fixture(scope="session")
def untrained(game: pe.Game, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A checkpoint of a small network that has learned nothing, with opinions of its own nevertheless."""
    pytest.importorskip("torch")
    import torch

    from pyramid_envs.agents import checkpoint
    from pyramid_envs.agents.networks import build, default_kind

    kind = default_kind(game.observation_shape)
    config = {"kind": kind, **({"channels": 4, "blocks": 1} if kind == "conv" else {"hidden": [16], "advised": True})}
    with torch.random.fork_rng():
        torch.manual_seed(0)
        network = build(config, game.observation_shape, game.num_actions)
    with torch.no_grad():
        for name, weights in network.named_parameters():
            weights *= 4 if name != "advice.weight" else 0.25
    folder = tmp_path_factory.mktemp("untrained")
    return str(checkpoint.write(folder, network.state_dict(), checkpoint.describe(game, config, 0), {}, ""))


def make(name: str, game: pe.Game, request: pytest.FixtureRequest) -> pe.Agent:
    """The agent of this name."""
    return pe.make_agent(name + (request.getfixturevalue("untrained") if name.endswith("@") else ""), game)


def ask(agent: pe.Agent, game: pe.Game, rows: list[Any], seeds: np.ndarray) -> np.ndarray:
    """What the agent plays in these rows, all in one call."""
    seats = np.array([game.to_move(row) for row in rows])
    observations = np.stack([game.observe(row, seat) for row, seat in zip(rows, seats, strict=True)])
    masks = np.stack([game.legal_mask(row) for row in rows])
    return agent.act(np.concatenate(rows), observations, masks, seats, seeds)


def seeds(count: int, start: int = 0) -> np.ndarray:
    return np.random.default_rng(start).integers(0, 2**64, count, np.uint64)


# --------------------------------------------------------------------------------------------------------- every agent


@pytest.mark.parametrize("name", NAMES)
def test_an_agent_plays_legal_actions(game: pe.Game, name: str, request: pytest.FixtureRequest) -> None:
    agent = make(name, game, request)
    assert agent.name.startswith(name)
    batch = pe.Batch(game, 50, seed=0)
    for _ in range(30):
        actions = act(agent, batch)
        assert actions.shape == (50,)
        assert actions.dtype == np.int64
        assert batch.masks[np.arange(50), actions].all()
        batch.step(actions)


@pytest.mark.parametrize("name", NAMES)
def test_an_agents_answer_depends_on_the_row_and_its_seed_alone(
    game: pe.Game, rows: list[Any], name: str, request: pytest.FixtureRequest
) -> None:
    agent = make(name, game, request)
    asked = decisions(game, rows)
    count = len(asked)
    keys = seeds(count)
    answers = ask(agent, game, asked, keys)
    assert answers.tolist() == ask(agent, game, asked, keys).tolist()
    assert answers.tolist() == ask(make(name, game, request), game, asked, keys).tolist()
    order = np.random.default_rng(0).permutation(count)
    assert ask(agent, game, [asked[i] for i in order], keys[order]).tolist() == answers[order].tolist()
    part = order[: count // 3]
    assert ask(agent, game, [asked[i] for i in part], keys[part]).tolist() == answers[part].tolist()
    for i in order[:10].tolist():
        assert ask(agent, game, [asked[i]], keys[i : i + 1]) == answers[i]
    parts = request.getfixturevalue("threaded")
    assert answers.tolist() == ask(agent, game, asked, keys).tolist()
    assert min(3, count // 8) in parts


@pytest.mark.parametrize("name", NAMES)
def test_an_agent_writes_to_nothing_that_it_is_given(
    game: pe.Game, rows: list[Any], name: str, request: pytest.FixtureRequest
) -> None:
    agent = make(name, game, request)
    asked = np.concatenate(decisions(game, rows))
    seats = np.array([game.to_move(asked[i : i + 1]) for i in range(len(asked))])
    observations = np.stack([game.observe(asked[i : i + 1], seat) for i, seat in enumerate(seats)])
    masks = np.stack([game.legal_mask(asked[i : i + 1]) for i in range(len(asked))])
    given = (asked, observations, masks, seats, seeds(len(asked)))
    before = [array.tobytes() for array in given]
    agent.act(*given)
    assert [array.tobytes() for array in given] == before


@pytest.mark.parametrize("name", NAMES)
def test_an_agent_does_not_know_what_its_seat_cannot_know(
    game: pe.Game, rows: list[Any], name: str, request: pytest.FixtureRequest
) -> None:
    agent = make(name, game, request)
    asked = decisions(game, rows)
    keys = seeds(len(asked))
    answers = ask(agent, game, asked, keys)
    for seed in range(6):
        dealt = [game.redeal(row, game.to_move(row), seed) for row in asked]
        assert ask(agent, game, dealt, keys).tolist() == answers.tolist()


def test_a_games_advice_is_legal_and_knows_only_what_the_seat_knows(game: pe.Game, rows: list[Any]) -> None:
    adviser = Adviser(game)
    for row in decisions(game, rows):
        mask = game.legal_mask(row)[None]
        advice = adviser.advise(row, mask)
        assert advice.max() == GRADES
        assert advice.min() >= 0
        assert not advice[~mask].any()
        for seed in range(6):
            assert (adviser.advise(game.redeal(row, game.to_move(row), seed), mask) == advice).all()


def test_a_game_without_thoughts_of_its_own_advises_what_greedy_might_play(game: pe.Game, rows: list[Any]) -> None:
    if hasattr(game.card.rules, "advise"):
        pytest.skip("it has thoughts of its own")  # which its own tests look at
    greedy: Any = pe.make_agent("greedy", game)
    for row in decisions(game, rows)[::4]:
        mask = game.legal_mask(row)[None]
        assert (Adviser(game).advise(row, mask) == GRADES * greedy.favourites(row, mask)).all()


@pytest.mark.parametrize("name", [name for name in NAMES if name != "greedy"])  # which has no more to tell than its choice
def test_what_an_agent_thinks_of_a_position_belongs_to_the_answer_that_it_gives(
    game: pe.Game, rows: list[Any], name: str, request: pytest.FixtureRequest
) -> None:
    agent: Any = make(name, game, request)
    for row in decisions(game, rows)[::15]:
        seat, mask, key = game.to_move(row), game.legal_mask(row), seeds(1)
        thought = agent.think(row, game.observe(row, seat)[None], mask[None], np.array([seat]), key)
        assert thought.action == ask(agent, game, [row], key)[0]
        assert thought.policy.sum() == pytest.approx(1)
        assert (thought.policy[~mask] == 0).all()
        assert thought.policy[thought.action] > 0
        if thought.worth is not None:
            assert -1 <= thought.worth[thought.action] <= 1
            assert np.isnan(thought.worth[~mask]).all()
            assert -1 <= thought.value <= 1


@pytest.mark.parametrize("name", NAMES)
def test_a_learner_can_have_the_agent_as_its_opponent(game: pe.Game, name: str, request: pytest.FixtureRequest) -> None:
    opponent = name + (request.getfixturevalue("untrained") if name.endswith("@") else "")
    env = gymnasium.make(f"pyramid_envs/{game.card.env_id}-v0", opponents=opponent, num_players=game.num_players)
    _, info = env.reset(seed=0)
    for _ in range(3):
        _, _, terminated, truncated, info = env.step(int(np.flatnonzero(info["action_mask"])[0]))
        if terminated or truncated:
            _, info = env.reset()
    env.close()


@pytest.mark.parametrize(
    ("name", "fixed", "folder"),
    [
        ("random", True, None),
        ("mcts:20", True, None),
        ("mcts:20@runs/a@b", True, "runs/a@b"),
        ("mcts:20@", False, "mcts:20@"),
        ("mcts:x@runs/a", False, "mcts:x@runs/a"),
        ("rollouts:20@runs/a@b", True, "runs/a@b"),
        ("rollouts:20@pretrained", True, None),
        ("rollouts:20", False, "rollouts:20"),
        ("runs/a", False, "runs/a"),
    ],
)
def test_names_tell_fixed_agents_and_folders(name: str, fixed: bool, folder: str | None) -> None:
    assert is_fixed(name) == fixed
    assert checkpoint_in(name) == folder


@pytest.mark.parametrize("name", ["mcts:0", "mcts:0@FOLDER", "rollouts:0@FOLDER"])
def test_a_search_needs_a_game_to_look_at(name: str, game: pe.Game, request: pytest.FixtureRequest) -> None:
    if "@" in name:
        name = name.replace("FOLDER", request.getfixturevalue("untrained"))
    with pytest.raises(pe.AgentError, match=r"at least 1 (simulation|game), not 0"):
        pe.make_agent(name, game)


@pytest.mark.parametrize("kind", ["mcts", "rollouts"])
def test_a_search_is_not_guided_by_a_checkpoint_of_another_game(game: pe.Game, untrained: str, kind: str) -> None:
    with pytest.raises(pe.CheckpointError, match="no folder"):
        pe.make_agent(f"{kind}:5@no/such/folder", game)
    if game.name == "treehouse":
        other = pe.make_game("treehouse", num_players=game.num_players, dig_away=True)
        with pytest.raises(pe.CheckpointError, match="dig_away"):
            pe.make_agent(f"{kind}:5@{untrained}", other)


@pytest.mark.parametrize(
    "name",
    ["nobody", "Random", " random", "greedy:2", "mcts:5@", "rollouts:5", "rollouts:5@", "no/such/folder", "pyproject.toml"],
)
def test_an_unknown_agent_is_named_and_the_known_are_told(game: pe.Game, name: str) -> None:
    with pytest.raises(pe.AgentError) as caught:
        pe.make_agent(name, game)
    assert repr(name) in str(caught.value)
    assert "random" in str(caught.value)
    assert "greedy" in str(caught.value)


# -------------------------------------------------------------------------------------------------------------- random


def test_random_plays_every_legal_action_equally_often(game: pe.Game, rows: list[Any]) -> None:
    agent = pe.make_agent("random", game)
    by_count = {int(game.legal_mask(row).sum()): row for row in decisions(game, rows)}
    for count in sorted(by_count)[:: max(1, len(by_count) // 4)]:
        row = by_count[count]
        asked = 200 * count
        mask = np.repeat(game.legal_mask(row)[None], asked, axis=0)
        views = np.repeat(game.observe(row, game.to_move(row))[None], asked, axis=0)
        answers = agent.act(np.repeat(row, asked), views, mask, np.full(asked, game.to_move(row)), seeds(asked, start=count))
        numbers, counts = np.unique(answers, return_counts=True)
        assert numbers.tolist() == game.legal_actions(row).tolist()
        freedom = count - 1
        assert ((counts - 200) ** 2 / 200).sum() <= freedom + 5 * np.sqrt(2 * freedom)  # chi-square


def test_random_leaves_no_gap_at_any_place_of_a_mask() -> None:
    """Masks of every length about a multiple of the block by which it skips, with one or two legal actions anywhere."""
    game = pe.make_game("treehouse")
    agent = pe.make_agent("random", game)
    for size in (1, 15, 16, 17, 31, 32, 33, 97):
        masks = np.eye(size, dtype=np.bool_)
        answers = agent.act(None, None, masks, None, seeds(size))  # type: ignore[arg-type]
        assert answers.tolist() == list(range(size))
        masks[:, -1] = True
        both = {(i, int(a)) for k in range(40) for i, a in enumerate(agent.act(None, None, masks, None, seeds(size, k)))}  # type: ignore[arg-type]
        assert both == {(i, i) for i in range(size)} | {(i, size - 1) for i in range(size)}


def test_random_answers_minus_one_where_nothing_is_legal(game: pe.Game) -> None:
    agent = pe.make_agent("random", game)
    masks = np.zeros((3, game.num_actions), np.bool_)
    masks[1, 0] = True
    assert agent.act(None, None, masks, None, seeds(3)).tolist() == [-1, 0, -1]  # type: ignore[arg-type]


# -------------------------------------------------------------------------------------------------------------- greedy


def test_greedy_draws_among_what_it_likes_equally(game: pe.Game, rows: list[Any]) -> None:
    agent = pe.make_agent("greedy", game)
    varied = 0
    for row in decisions(game, rows)[::4]:
        varied += len(set(ask(agent, game, [row] * 60, seeds(60)).tolist())) > 1
    assert varied


def test_greedy_draws_from_its_favourites(game: pe.Game, rows: list[Any]) -> None:
    agent: Any = pe.make_agent("greedy", game)
    few = 0
    for row in decisions(game, rows)[::4]:
        favourites = np.flatnonzero(agent.favourites(row, game.legal_mask(row)[None])[0]).tolist()
        drawn = set(ask(agent, game, [row] * 200, seeds(200)).tolist())
        assert drawn <= set(favourites)
        if len(favourites) <= 8:  # so that 200 draws miss none
            few += 1
            assert drawn == set(favourites)
    assert few


def test_greedy_beats_random(game: pe.Game) -> None:
    if not hasattr(card(game.name).rules, "greedy"):
        pytest.skip("this game has no yardstick, so its greedy agent is the random one")  # a fifth game may come without
    greedy, random = pe.make_agent("greedy", game), pe.make_agent("random", game)
    paid, won = [], game.num_players * 40
    batch = pe.Batch(game, won, seed=0)
    # In game i greedy has seat i modulo the number of seats; every game is played once.
    own = np.arange(won) % game.num_players
    running = np.ones(won, np.bool_)
    for _ in range(3000):
        actions = np.where(batch.seats == own, act(greedy, batch), act(random, batch))
        step = batch.step(actions)
        ended = running & (step.terminated | step.truncated)
        paid += step.rewards[np.arange(won), own][ended].tolist()
        running &= ~ended
        if not running.any():
            break
    assert len(paid) == won
    assert np.mean(paid) > 3 * np.std(paid) / np.sqrt(won)


def treehouse_positions(num_players: int) -> tuple[pe.Game, list[Any]]:
    """Positions of Treehouse in which somebody is often about to win."""
    game = pe.make_game("treehouse", num_players=num_players)
    dice = np.random.default_rng(num_players)
    texts = oracle.arrangements()
    found = []
    while len(found) < 300:
        pool = [str(text) for text in dice.choice(texts, 3)]
        house = str(dice.choice(list(oracle.moves(pool[0], "SWAP").values()) + list(oracle.moves(pool[0], "AIM").values())))
        position = {
            "trios": dice.choice(pool, num_players).tolist(),
            "house": house,
            "roll": str(dice.choice(["AIM", "TIP", "HOP", "SWAP", "DIG", "WILD", "WILD"])),
            "to_move": int(dice.integers(num_players)),
        }
        try:
            found.append(game.from_position(position))
        except pe.PositionError:
            continue  # somebody has won, or the roll allows nothing
    return game, found


@pytest.mark.parametrize("num_players", [2, 3, 4])
def test_greedy_wins_treehouse_when_it_can_and_gives_no_game_away_that_it_can_keep(num_players: int) -> None:
    game, rows = treehouse_positions(num_players)
    answers = ask(pe.make_agent("greedy", game), game, rows, seeds(len(rows)))
    wins = saves = 0
    for row, answer in zip(rows, answers.tolist(), strict=True):
        seat = game.to_move(row)
        results = {}
        for action in game.legal_actions(row).tolist():
            after = row.copy()
            game.apply(after, action)
            results[action] = float(game.returns(after)[seat])
        assert results[answer] == max(results.values())
        best, worst = max(results.values()), min(results.values())
        wins += best > 0 and worst < best
        saves += best == 0 and worst < 0
    assert wins > 20
    assert saves > 10


def test_greedy_comes_nearest_to_the_house_in_treehouse() -> None:
    game = pe.make_game("treehouse")
    row = game.from_position({"trios": ["L< S M", "S L M"], "house": "L< S< M<", "roll": "AIM", "to_move": 0})
    nearest = {"own AIM S left", "own AIM M left"}
    agent = pe.make_agent("greedy", game)
    answers = ask(agent, game, [row] * 50, seeds(50))
    assert {game.action_name(row, answer) for answer in answers.tolist()} == nearest


# -------------------------------------------------------------------------------------------------------------- search


def test_a_redeal_leaves_no_trace_of_what_the_seat_cannot_know(game: pe.Game, rows: list[Any]) -> None:
    """Else a search would use it, in what it takes others to see."""
    for row in rows:
        for seat in range(game.num_players):
            for seed in (1, 2):
                other = game.redeal(row, seat, seed)
                assert game.redeal(other, seat, 7).tobytes() == game.redeal(row, seat, 7).tobytes()


class Blank:
    """A network without opinions: every action as likely, every position worth the same."""

    def __init__(self, game: pe.Game, value: float = 0.0) -> None:
        self.game, self.value = game, value
        self.seen: list[np.ndarray] = []

    def __call__(self, observations: Any) -> Any:
        import torch

        self.seen.append(observations.numpy().copy())
        count = len(observations)
        return torch.zeros(count, self.game.num_actions), torch.full((count,), self.value)


def guided(game: pe.Game, network: Any, simulations: int) -> pe.Agent:
    pytest.importorskip("torch")
    from pyramid_envs.agents.guided import GuidedAgent

    return GuidedAgent(network, game, simulations)


@pytest.mark.parametrize("num_players", [2, 3, 4])
@pytest.mark.parametrize("kind", ["plain", "guided"])
def test_search_wins_treehouse_when_it_can(num_players: int, kind: str) -> None:
    """Whichever seat decides: what a game brings is counted for the right one."""
    game, rows = treehouse_positions(num_players)
    agent = pe.make_agent("mcts:300", game) if kind == "plain" else guided(game, Blank(game), 300)
    found = 0
    for row in rows[:120]:
        seat = game.to_move(row)
        results = {}
        for action in game.legal_actions(row).tolist():
            after = row.copy()
            game.apply(after, action)
            results[action] = float(game.returns(after)[seat])
        if max(results.values()) == 1.0 and min(results.values()) < 1.0:
            found += 1
            assert results[int(ask(agent, game, [row], seeds(1))[0])] > 0
    assert found > 5


@pytest.mark.parametrize("num_players", [2, 3, 4])
def test_the_network_is_shown_what_the_seat_to_move_sees(num_players: int) -> None:
    game, rows = treehouse_positions(num_players)
    network = Blank(game, 0.3)
    ask(guided(game, network, 40), game, rows[:10], seeds(10))
    turn = game.observation_fields["turn"][0]
    for seen in network.seen:
        assert (seen[:, turn.start] == 1).all()
    assert sum(map(len, network.seen)) > 100


def test_many_simulations_are_on_their_way_at_once_and_all_come_back() -> None:
    """Virtual losses leave nothing behind: at the root, actions are tried once for each simulation (and once more where a
    simulation comes back to the root's position further down).
    """
    from pyramid_envs.agents import guided as module

    game, rows = treehouse_positions(2)
    tried = []

    class Spy:
        def __getattr__(self, name: str) -> Any:
            def decide(tries: Any, totals: Any, actions: Any) -> Any:
                tried.append((tries[:, 0].sum(1), np.abs(totals[:, 0]).sum(1)))
                return getattr(drivers, name)(tries, totals, actions)

            return decide if name == "decide" else getattr(drivers, name)

    drivers = module._shared()
    for value in (0.0, 0.5):
        agent = guided(game, Blank(game, value), 200)
        original, module._shared = module._shared, lambda: Spy()
        try:
            ask(agent, game, rows[:20], seeds(20))
        finally:
            module._shared = original
    for tries, totals in tried:
        assert (tries >= 200).all()
        assert (tries < 210).all()
        assert (totals <= tries).all()


# ------------------------------------------------------------------------------------------------------------ rollouts


class Fond:
    """A network that likes some actions alike, and each of all others exp(-`by`) times as much."""

    def __init__(self, game: pe.Game, actions: list[int], by: float) -> None:
        self.game, self.actions, self.by = game, actions, by

    def __call__(self, observations: Any) -> Any:
        import torch

        logits = torch.zeros(len(observations), self.game.num_actions)
        logits[:, self.actions] = self.by
        return logits, torch.zeros(len(observations))


def rolling(game: pe.Game, network: Any, rollouts: int) -> Any:
    pytest.importorskip("torch")
    from pyramid_envs.agents.rollouts import RolloutAgent

    return RolloutAgent(network, game, rollouts)


def thought_of(agent: Any, game: pe.Game, row: Any, key: int = 0) -> Any:
    seat = game.to_move(row)
    return agent.think(row, game.observe(row, seat)[None], game.legal_mask(row)[None], np.array([seat]), seeds(1, key))


@pytest.mark.parametrize("num_players", [2, 3, 4])
def test_rollouts_find_the_win_among_what_the_network_likes(num_players: int) -> None:
    """Whichever seat decides: what a game brings is counted for the right one."""
    game, rows = treehouse_positions(num_players)
    found = 0
    for row in rows[:120]:
        seat = game.to_move(row)
        results = {}
        for action in game.legal_actions(row).tolist():
            after = row.copy()
            game.apply(after, action)
            results[action] = float(game.returns(after)[seat])
        wins = [action for action, payoff in results.items() if payoff == 1.0]
        others = [action for action, payoff in results.items() if payoff < 1.0]
        if wins and others:
            found += 1
            thought = thought_of(rolling(game, Fond(game, [*others[:5], wins[0]], 9.0), 60), game, row)
            assert thought.action == wins[0]
            assert thought.worth[wins[0]] == thought.value == 1.0
            assert thought.worth[others[0]] < 1.0
    assert found > 5


def test_rollouts_look_at_nothing_that_the_network_dislikes(game: pe.Game, rows: list[Any]) -> None:
    several = 0
    for row in decisions(game, rows)[::6]:
        liked = game.legal_actions(row)[-1:].tolist()
        thought = thought_of(rolling(game, Fond(game, liked, 8.0), 8), game, row)  # exp(-8) is less than UNLIKELY
        assert thought.action == liked[0]
        assert np.flatnonzero(thought.policy).tolist() == liked
        assert thought.value is None
        thought = thought_of(rolling(game, Fond(game, liked, 7.0), 8), game, row)  # and exp(-7) is more
        assert np.count_nonzero(thought.policy) == min(12, len(game.legal_actions(row)))
        several += thought.value is not None
    assert several


def test_most_rollouts_go_to_the_plans_that_are_hard_to_tell_apart() -> None:
    """Four rounds for twelve plans: 4 games of each, 8 of each of the six best, 16 of the three best, 24 of the two best."""
    game, rows = treehouse_positions(2)
    row = max(rows, key=lambda row: len(game.legal_actions(row)))
    thought = thought_of(rolling(game, Blank(game), 192), game, row)
    tries = np.sort(thought.policy[thought.policy > 0] * 192)
    assert tries.round(6).tolist() == [4] * 6 + [12] * 3 + [28, 52, 52]
    assert thought.policy[thought.action] * 192 == pytest.approx(52)
    assert thought.worth[thought.action] == max(thought.worth[thought.policy * 192 > 51])


@pytest.mark.parametrize(("name", "least"), [("treehouse", 1), ("trellis", 4)])
def test_a_plan_goes_on_to_the_end_of_the_turn_and_no_further(name: str, least: int) -> None:
    game = pe.make_game(name)
    agent = rolling(game, Blank(game), 1)
    batch = pe.Batch(game, 40, seed=0)
    for _ in range(30):
        batch.step(act(pe.make_agent("random", game), batch))
    plans = agent._plan(batch.rows, batch.observations, batch.masks, seeds(40))
    lengths = []
    for i in range(40):
        begun = [plan[plan >= 0].tolist() for plan in plans[i] if plan[0] >= 0]
        assert [plan[0] for plan in begun] == np.flatnonzero(batch.masks[i])[:12].tolist()  # all alike to a blank network
        for plan in begun if len(begun) > 1 else []:
            row = batch.rows[i : i + 1].copy()
            for action in plan:  # what is hidden plays no part before the turn ends
                assert game.to_move(row) == batch.seats[i]
                game.apply(row, action)
            assert game.to_move(row) != batch.seats[i]
            lengths.append(len(plan))
    assert max(lengths) >= least


@pytest.mark.slow
def test_rollouts_play_better_than_the_network_that_they_ask() -> None:
    game = pe.make_game("trellis")
    match = play_match(game, pe.make_agent("rollouts:200@pretrained", game), pe.make_agent("pretrained", game), 400)
    assert match.win_rate.low > 0.5


@pytest.mark.slow
@pytest.mark.parametrize("name", ["treehouse", "trellis", "pocket", "twin_win"])
def test_the_more_a_search_simulates_the_better_it_plays(name: str) -> None:
    game = pe.make_game(name)
    few, many, random = (pe.make_agent(agent, game) for agent in ("mcts:5", "mcts:200", "random"))
    assert play_match(game, few, random, 200).win_rate.low > 0.5
    assert play_match(game, many, few, 200).win_rate.low > 0.5
