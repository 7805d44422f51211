"""Checkpoints: whole or refused, without pickle, and safe from a kill; the agents that play them."""

# ruff: noqa: E402 - without torch the whole file is skipped before anything that needs it is imported
from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import pyramid_envs as pe
from pyramid_envs import rng
from pyramid_envs.agents import checkpoint
from pyramid_envs.agents.fixed import Adviser
from pyramid_envs.agents.learned import LearnedAgent
from pyramid_envs.agents.networks import GatedLayer, build, default_kind, initialise
from pyramid_envs.kernels import GRADES

ROOT = Path(__file__).parent.parent
NETWORK = {"kind": "mlp", "hidden": [8]}


def write(run: Path, game: pe.Game, steps: int = 100, seed: int = 0, keep: int = 3) -> Path:
    network = build(NETWORK, game.observation_shape, game.num_actions)
    initialise(network, torch.Generator().manual_seed(seed))
    config = checkpoint.describe(game, NETWORK, steps, settings={"seed": seed})

    def write_state(folder: Path) -> None:
        torch.save({"update": seed}, folder / checkpoint.STATE)

    return checkpoint.write(run, network.state_dict(), config, {"matches": []}, "# A card\n", write_state, keep)


@pytest.fixture
def treehouse() -> pe.Game:
    return pe.make_game("treehouse")


@pytest.fixture
def folder(tmp_path, treehouse) -> Path:
    return write(tmp_path / "run", treehouse)


# ------------------------------------------------------------------------------------------------------ what is in one


def test_a_checkpoint_holds_what_it_says(folder, treehouse):
    assert sorted(path.name for path in folder.iterdir()) == sorted(
        ["model.safetensors", "config.json", "results.json", "README.md", "training_state.pt"]
    )
    config = json.loads((folder / "config.json").read_text())
    assert (config["game"], config["version"], config["steps"]) == ("treehouse", treehouse.version, 100)
    assert config["options"] == treehouse.options
    assert config["observation_shape"] == list(treehouse.observation_shape)
    assert checkpoint.load_training_state(folder) == {"update": 0}


def test_weights_come_back_bit_by_bit(folder, treehouse):
    network = build(NETWORK, treehouse.observation_shape, treehouse.num_actions)
    initialise(network, torch.Generator().manual_seed(0))
    loaded = checkpoint.load_network(folder, treehouse).state_dict()
    assert loaded.keys() == network.state_dict().keys()
    for name, tensor in network.state_dict().items():
        assert torch.equal(loaded[name], tensor)


def test_a_run_stands_for_its_latest_checkpoint(tmp_path, treehouse):
    run = tmp_path / "run"
    written = [write(run, treehouse, steps) for steps in (5, 10, 100, 1000)]
    assert checkpoint.find(run) == checkpoint.find(written[-1]) == written[-1]
    assert [path.exists() for path in written] == [False, True, True, True]  # the newest three are kept
    assert not [path for path in run.iterdir() if path.name.startswith(".")]
    agent = pe.make_agent(str(run), treehouse)
    assert isinstance(agent, LearnedAgent)


# ------------------------------------------------------------------------------------------------------------ refusals


@pytest.mark.parametrize(
    ("options", "both"),
    [
        ({"num_players": 3}, ["num_players=2", "num_players=3"]),
        ({"dig_away": True}, ["dig_away=False", "dig_away=True"]),
    ],
)
def test_other_options_are_refused_with_both_values(folder, options, both):
    with pytest.raises(pe.CheckpointError) as refused:
        LearnedAgent.load(folder, pe.make_game("treehouse", **options))
    for value in both:
        assert value in str(refused.value)


def test_another_cap_on_length_is_accepted(folder):
    LearnedAgent.load(folder, pe.make_game("treehouse", max_plies=7))


@pytest.mark.parametrize(
    ("entry", "value", "both"),
    [
        ("game", "chess", ["chess", "treehouse"]),
        ("version", 17, ["17", "version 0"]),
        ("observation_shape", [9, 9], ["(9, 9)", "(89,)"]),
        ("num_actions", 5, ["5", "97"]),
        ("format", 99, ["99", "1"]),
    ],
)
def test_another_game_version_or_shape_is_refused_with_both_values(folder, treehouse, entry, value, both):
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {entry: value}))
    with pytest.raises(pe.CheckpointError) as refused:
        LearnedAgent.load(folder, treehouse)
    for words in both:
        assert words in str(refused.value)


def damages() -> dict[str, Any]:
    def cut(path: Path) -> None:
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])

    def flip(path: Path) -> None:
        data = bytearray(path.read_bytes())
        data[-10] ^= 1
        path.write_bytes(data)

    def rewrite(**entries: Any) -> Any:
        return lambda path: path.write_text(json.dumps(json.loads(path.read_text()) | entries))

    def drop(path: Path) -> None:
        config = json.loads(path.read_text())
        del config["network"]
        path.write_text(json.dumps(config))

    return {
        "weights cut short": (checkpoint.MODEL, cut),
        "one bit of the weights": (checkpoint.MODEL, flip),
        "weights empty": (checkpoint.MODEL, lambda path: path.write_bytes(b"")),
        "weights missing": (checkpoint.MODEL, Path.unlink),
        "config cut short": (checkpoint.CONFIG, cut),
        "config empty": (checkpoint.CONFIG, lambda path: path.write_bytes(b"")),
        "config of bytes": (checkpoint.CONFIG, lambda path: path.write_bytes(b"\xff\xfe\x00")),
        "config a list": (checkpoint.CONFIG, lambda path: path.write_text("[]")),
        "config without network": (checkpoint.CONFIG, drop),
        "config of wrong type": (checkpoint.CONFIG, rewrite(steps="many")),
        "unknown network": (checkpoint.CONFIG, rewrite(network={"kind": "oracle"})),
        "network of other sizes": (checkpoint.CONFIG, rewrite(network={"kind": "mlp", "hidden": [9]})),
        "network of nonsense": (checkpoint.CONFIG, rewrite(network={"kind": "mlp", "hidden": [-3]})),
        "network with unknown part": (checkpoint.CONFIG, rewrite(network={"kind": "mlp", "depth": 3})),
    }


@pytest.mark.parametrize("damage", damages())
def test_what_is_damaged_is_refused(folder, treehouse, damage):
    name, spoil = damages()[damage]
    spoil(folder / name)
    with pytest.raises(pe.CheckpointError, match=str(folder)):
        LearnedAgent.load(folder, treehouse)


def test_a_damaged_training_state_stops_only_the_training(folder, treehouse):
    path = folder / checkpoint.STATE
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(pe.CheckpointError, match="damaged"):
        checkpoint.load_training_state(folder)
    path.unlink()
    with pytest.raises(pe.CheckpointError, match="can be played"):
        checkpoint.load_training_state(folder)
    LearnedAgent.load(folder, treehouse)


def test_folders_that_are_no_checkpoints_are_told(tmp_path, treehouse):
    with pytest.raises(pe.CheckpointError, match="no folder"):
        checkpoint.find(tmp_path / "nothing")
    with pytest.raises(pe.CheckpointError, match="no checkpoint"):
        checkpoint.find(tmp_path)
    with pytest.raises(pe.CheckpointError, match="no checkpoint"):
        pe.make_agent(str(tmp_path), treehouse)
    for name in ("step_000000000001", "../elsewhere", ""):
        (tmp_path / "latest").write_text(name)
        with pytest.raises(pe.CheckpointError, match="latest"):
            checkpoint.find(tmp_path)


# ------------------------------------------------------------------------------------------------------------- safety


class Bomb:
    def __reduce__(self):
        return os.system, ("touch exploded",)


def test_nothing_is_unpickled(folder, treehouse, monkeypatch, tmp_path):
    import pickle

    monkeypatch.chdir(tmp_path)
    torch.save({"update": Bomb()}, folder / checkpoint.STATE)
    with pytest.raises(pe.CheckpointError):
        checkpoint.load_training_state(folder)

    def refuse(*arguments: Any, **keywords: Any) -> None:
        raise AssertionError("unpickled")

    batch = pe.Batch(treehouse, 3)
    batch.keys(rng.MOVE)  # the compiler reads its own cache by pickle, when a driver is first called
    for module, names in ((pickle, ("load", "loads", "Unpickler")), (torch, ("load",))):
        for name in names:
            monkeypatch.setattr(module, name, refuse)
    agent = LearnedAgent.load(folder, treehouse)
    agent.act(batch.rows, batch.observations, batch.masks, batch.seats, batch.keys(rng.MOVE))
    assert not (tmp_path / "exploded").exists()


class Killed(BaseException):
    """As if the process ended here."""


def test_a_kill_at_any_moment_leaves_a_good_checkpoint(tmp_path, treehouse, monkeypatch):
    """Every call by which a save touches the disk is made the last one in turn, half done where it writes."""
    reached_end = False
    latest = set()
    for moment in range(200):
        run = tmp_path / f"run{moment}"
        for steps in (1, 2):
            write(run, treehouse, steps, seed=steps, keep=2)
        calls = 0

        def interrupted(original: Any) -> Any:
            def call(*arguments: Any, **keywords: Any) -> Any:
                nonlocal calls
                calls += 1
                if calls == moment + 1:  # noqa: B023
                    if isinstance(arguments[0], Path) and len(arguments) > 1 and isinstance(arguments[1], bytes | str):
                        half = arguments[1][: len(arguments[1]) // 2]
                        original(arguments[0], half, **keywords)
                    raise Killed
                return original(*arguments, **keywords)

            return call

        with monkeypatch.context() as patch:
            for owner, names in (
                (Path, ("write_bytes", "write_text", "mkdir")),
                (os, ("rename", "replace", "fsync", "unlink", "rmdir")),
                (torch, ("save",)),
            ):
                for name in names:
                    patch.setattr(owner, name, interrupted(getattr(owner, name)))
            try:
                write(run, treehouse, 3, seed=3, keep=2)
                reached_end = True
            except Killed:
                pass
        found = checkpoint.find(run)
        steps = checkpoint.read_config(found)["steps"]
        latest.add(steps)
        LearnedAgent.load(run, treehouse)
        assert checkpoint.load_training_state(found) == {"update": steps}
        # The next save works, and leaves nothing of the one that was killed.
        write(run, treehouse, 4, seed=4, keep=2)
        assert checkpoint.read_config(checkpoint.find(run))["steps"] == 4
        assert not list(run.glob(".*ing-step*"))
        shutil.rmtree(run)
        if reached_end:
            break
    assert reached_end
    assert moment > 15
    assert latest == {2, 3}


def test_a_save_that_was_made_already_is_left_alone(folder, treehouse):
    before = (folder / checkpoint.MODEL).stat().st_mtime_ns
    assert write(folder.parent, treehouse, seed=9) == folder
    assert (folder / checkpoint.MODEL).stat().st_mtime_ns == before


# ----------------------------------------------------------------------------------------------------------- the agent


def positions(game: pe.Game, count: int) -> pe.Batch:
    batch = pe.Batch(game, count, seed=5)
    random = pe.make_agent("random", game)
    for _ in range(7):
        keys = batch.keys(rng.MOVE)
        batch.step(random.act(batch.rows, batch.observations, batch.masks, batch.seats, keys))
    return batch


def lively(game: pe.Game) -> torch.nn.Module:
    """A network whose policy is far from uniform."""
    network = build({"kind": default_kind(game.observation_shape)}, game.observation_shape, game.num_actions)
    initialise(network, torch.Generator().manual_seed(1))
    with torch.no_grad():
        network.policy_head.weight *= 100
    return network


def test_answers_are_legal_and_depend_on_the_row_and_its_seed_alone(game):
    batch = positions(game, 64)
    for deterministic in (False, True):
        agent = LearnedAgent(lively(game), game, deterministic=deterministic)
        seeds = np.arange(64, dtype=np.uint64) * np.uint64(2**58 - 1)
        together = agent.act(batch.rows, batch.observations, batch.masks, batch.seats, seeds)
        assert batch.masks[np.arange(64), together].all()
        order = np.random.default_rng(0).permutation(64)[:40]
        shuffled = agent.act(batch.rows[order], batch.observations[order], batch.masks[order], batch.seats[order], seeds[order])
        np.testing.assert_array_equal(shuffled, together[order])
        one = slice(3, 4)
        alone = agent.act(batch.rows[one], batch.observations[one], batch.masks[one], batch.seats[one], seeds[one])
        np.testing.assert_array_equal(alone, together[one])
        again = agent.act(batch.rows, batch.observations, batch.masks, batch.seats, seeds + np.uint64(2**63))
        assert (again != together).any() == (not deterministic)


def test_rows_and_seats_are_not_looked_at(game):
    batch = positions(game, 16)
    agent = LearnedAgent(lively(game), game)
    seeds = batch.keys(rng.MOVE)
    honest = agent.act(batch.rows, batch.observations, batch.masks, batch.seats, seeds)
    blind = agent.act(np.zeros_like(batch.rows), batch.observations, batch.masks, np.zeros_like(batch.seats), seeds)
    np.testing.assert_array_equal(honest, blind)


def test_drawn_actions_have_the_networks_probabilities(treehouse):
    batch = positions(treehouse, 4)
    agent = LearnedAgent(lively(treehouse), treehouse)
    count = 20_000
    rows = np.repeat(np.arange(4), count)
    keys = np.repeat(batch.keys(rng.MOVE), count)
    with np.errstate(over="ignore"):
        seeds = np.array([rng.fold(key, n) for n, key in enumerate(keys)], np.uint64)
    drawn = agent.act(batch.rows[rows], batch.observations[rows], batch.masks[rows], batch.seats[rows], seeds).reshape(4, count)
    policy = torch.softmax(torch.from_numpy(agent.logits(batch.observations, batch.masks)), 1).numpy()
    assert (policy.max(1) < 0.99).any()
    for row in range(4):
        shares = np.bincount(drawn[row], minlength=treehouse.num_actions) / count
        np.testing.assert_allclose(shares, policy[row], atol=0.015)
        assert (shares[~batch.masks[row]] == 0).all()
    best = LearnedAgent(agent.network, treehouse, deterministic=True)
    chosen = best.act(batch.rows, batch.observations, batch.masks, batch.seats, batch.keys(rng.MOVE))
    np.testing.assert_array_equal(chosen, policy.argmax(1))


@pytest.mark.parametrize("kind", ["mlp", "sparse"])
def test_an_advised_network_begins_by_playing_as_advised(game, kind):
    batch = positions(game, 64)
    network = build({"kind": kind, "hidden": [8], "advised": True}, game.observation_shape, game.num_actions)
    initialise(network, torch.Generator().manual_seed(1))
    agent = LearnedAgent(network, game, deterministic=True)
    actions = agent.act(batch.rows, batch.observations, batch.masks, batch.seats, batch.keys(rng.MOVE))
    assert (Adviser(game).advise(batch.rows, batch.masks)[np.arange(64), actions] == GRADES).all()


@pytest.mark.parametrize("kind", ["mlp", "sparse"])
def test_an_advised_network_sees_the_advice_and_learns_how_much_it_is_worth(treehouse, kind):
    batch = positions(treehouse, 4)
    network = build({"kind": kind, "hidden": [8], "advised": True}, treehouse.observation_shape, treehouse.num_actions)
    advice = GRADES * np.eye(treehouse.num_actions, dtype=np.int8)[[3, 5, 7, 9]]
    seen = torch.from_numpy(np.concatenate([batch.observations, advice], 1))
    with_advice, value = network(seen)
    without, other_value = network(torch.from_numpy(np.concatenate([batch.observations, 0 * advice], 1)))
    assert not torch.equal(value, other_value)
    network.advice.weight.data.zero_()
    torch.testing.assert_close(with_advice - network(seen)[0], 4.0 / GRADES * torch.from_numpy(advice))
    assert not torch.equal(network(seen)[0], without)


@pytest.mark.parametrize("kind", ["mlp", "sparse"])
def test_the_layers_of_an_advised_network_see_shares(treehouse, kind):
    """The highest advice weighs as much in the first layer as an entry of 1 does."""
    size = treehouse.observation_shape[0]
    network = build({"kind": kind, "hidden": [8], "advised": True}, treehouse.observation_shape, treehouse.num_actions)
    weights = network.trunk[0].weight.data.T if kind == "mlp" else network.first.weight.data
    weights[size] = weights[0]
    network.advice.weight.data.zero_()
    seen = torch.zeros((2, size + treehouse.num_actions), dtype=torch.int8)
    seen[0, 0], seen[1, size] = 1, GRADES
    logits, value = network(seen)
    torch.testing.assert_close(logits[0], logits[1])
    torch.testing.assert_close(value[0], value[1])
    assert not torch.equal(value[0], network(torch.zeros_like(seen))[1][0])


def test_a_gated_layer_multiplies_what_a_sum_would_only_add():
    layer = GatedLayer(2, 1)
    layer.linear.weight.data = torch.tensor([[1.0, -1.0], [1.0, -1.0]])
    layer.linear.bias.data.zero_()
    features = torch.tensor([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [3.0, 1.0]])
    torch.testing.assert_close(layer(features), torch.tensor([[0.0], [1.0], [0.0], [0.0], [4.0]]))


@pytest.mark.parametrize("activation", ["relu", "tanh", "gated"])
def test_an_mlp_has_layers_of_the_sizes_it_is_told(activation):
    network = build({"kind": "mlp", "hidden": [6, 4], "activation": activation, "separate_value": True}, (5,), 3)
    assert network.policy_head.in_features == network.value_head.in_features == 4
    logits, values = network(torch.randint(0, 2, (9, 5)))
    (logits.square().mean() + values.square().mean()).backward()
    assert all(parameter.grad is not None for parameter in network.parameters())


@pytest.mark.parametrize("kind", ["mlp", "conv"])
def test_networks_for_planes(kind):
    shape, actions = (5, 7, 6), 11
    network = build({"kind": kind}, shape, actions)
    observations = torch.randint(-3, 4, (9, *shape), dtype=torch.int8)
    logits, values = network(observations)
    assert logits.shape == (9, actions)
    assert values.shape == (9,)
    (logits.square().mean() + values.square().mean()).backward()
    assert all(parameter.grad is not None and parameter.grad.abs().sum() > 0 for parameter in network.parameters())
    assert default_kind(shape) == "conv"
    assert default_kind((5,)) == "mlp"


# ------------------------------------------------------------------------------------------------------- without torch


def run_python(program: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        capture_output=True,
        text=True,
    )


def test_the_package_imports_no_torch():
    done = run_python(
        "import sys, pyramid_envs, pyramid_envs.evaluation; print('torch' in sys.modules, 'safetensors' in sys.modules)"
    )
    assert done.stdout.split() == ["False", "False"], done.stderr


@pytest.mark.parametrize("package", ["torch", "safetensors"])
def test_a_missing_package_is_told_with_the_extra_to_install(folder, package):
    program = (
        f"import sys; sys.modules[{package!r}] = None\n"
        "import pyramid_envs as pe\n"
        "game = pe.make_game('treehouse'); pe.make_agent('greedy', game)\n"
        f"try: pe.make_agent({str(folder)!r}, game)\n"
        "except pe.MissingExtraError as error: print(error)"
    )
    done = run_python(program)
    assert 'pip install "pyramid-envs[train]"' in done.stdout, done.stderr
