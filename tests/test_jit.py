"""The compiler changes nothing but the speed, and never answers from a stale cache."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import pyramid_envs as pe
from tests.conftest import SETUPS
from tests.playing import digest

ROOT = Path(__file__).parent.parent


def python(code: str, path: Path = ROOT, **environment: str) -> str:
    """What a new Python process prints that finds its packages below `path`; warnings are errors in it."""
    games = f"import pyramid_envs as pe\npe.add_games_folder({str(path / 'tests' / 'extra_games')!r})\n"
    result = subprocess.run(
        [sys.executable, "-W", "error", "-c", games + code],
        cwd=path,
        env={**os.environ, "PYTHONPATH": str(path), **environment},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout.strip()


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A copy of the package and of the tests' own games, without caches."""
    for folder in ("pyramid_envs", "tests/extra_games"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


@pytest.mark.parametrize(("name", "num_players"), SETUPS)
def test_uncompiled_play_is_the_same_to_the_last_bit(name: str, num_players: int) -> None:
    steps = 25
    code = f"from tests.playing import digest; print(digest({name!r}, {num_players}, {steps}))"
    assert python(code, NUMBA_DISABLE_JIT="1") == digest(name, num_players, steps)


def test_without_the_compiler_nothing_is_compiled() -> None:
    code = """
import types
game = pe.make_game("treehouse")
print({type(driver) for driver in vars(game.drivers).values()} == {types.FunctionType})
"""
    assert python(code, NUMBA_DISABLE_JIT="1") == "True"


@pytest.mark.parametrize("name", pe.game_names())
def test_an_edit_of_the_rules_is_seen_by_the_next_process(package: Path, name: str) -> None:
    code = f"game = pe.make_game({name!r}); print(game.to_move(game.initial()))"
    assert python(code, package) in ("-1", "0", "1")
    (rules,) = package.rglob(f"{name}/rules.py")
    rules.write_text(rules.read_text() + "\n\n@kernel\ndef to_move(s):\n    return 77\n")
    assert python(code, package) == "77"


def test_an_edit_of_what_the_rules_call_is_seen_by_the_next_process(package: Path) -> None:
    code = """
game = pe.make_game("treehouse")
row = game.from_position({"trios": ["LMS", "SML"], "house": "SML", "roll": None, "to_move": 0})
print(game.returns(row).tolist())
"""
    assert python(code, package) == "[-1.0, 1.0]"
    payoffs = package / "pyramid_envs" / "payoffs.py"
    edited = payoffs.read_text().replace("-1.0 / (num_players - 1)", "-5.0")
    assert edited != payoffs.read_text()
    payoffs.write_text(edited)
    assert python(code, package) == "[-5.0, 1.0]"


def test_every_source_of_compiled_code_is_part_of_the_caches_name(package: Path) -> None:
    code = """
for name in pe.game_names():
    print(pe.make_game(name).drivers.start.__qualname__)
"""
    sources = [
        path
        for path in package.rglob("*.py")
        if re.search(r"^@(kernel|hash_kernel)$", path.read_text(), re.MULTILINE) or path.name in ("drivers.py", "jit.py")
    ]
    names = python(code, package).splitlines()
    assert len(set(names)) == len(pe.game_names())
    for path in sources:
        path.write_text(path.read_text() + "\n# edited\n")
        others = python(code, package).splitlines()
        changed = [before != after for before, after in zip(names, others, strict=True)]
        if path.name == "rules.py":
            assert changed == [name == path.parent.name for name in pe.game_names()], path
        else:
            assert all(changed), path
        names = others


USE = """
game = pe.make_game({name!r})
batch = pe.Batch(game, 2, seed=0)
agent = pe.make_agent("random", game)
batch.step(agent.act(batch.rows, batch.observations, batch.masks, batch.seats, batch.keys(3)))
row = game.initial()
game.legal_mask(row), game.observe(row, 0), game.position(row), game.returns(row), game.chance_outcomes(row)
if game.to_move(row) >= 0:
    game.apply(row, game.legal_actions(row)[0])
stats = [driver.stats for driver in vars(game.drivers).values()]
print(sum(sum(s.cache_hits.values()) for s in stats), sum(sum(s.cache_misses.values()) for s in stats))
"""


@pytest.mark.parametrize("name", pe.game_names())
def test_a_second_process_compiles_nothing(name: str) -> None:
    python(USE.format(name=name))
    for _ in range(3):  # another process may have replaced the cache's index meanwhile
        hits, misses = map(int, python(USE.format(name=name)).split())
        if misses == 0:
            break
    assert misses == 0
    assert hits >= 8


def test_a_game_works_where_no_cache_can_be_written(package: Path) -> None:
    # A file where the folder of a cache would be keeps even an administrator from writing one.
    for folder in [path for path in package.rglob("*") if path.is_dir()]:
        (folder / "__pycache__").touch()
    code = """
game = pe.make_game("treehouse")
row = game.initial()
game.apply(row, 1)
game.apply(row, 9 + 4)
print(game.position(row), game.drivers.play.stats.cache_path)
"""
    nowhere = {"HOME": "/dev/null", "XDG_CACHE_HOME": "/dev/null/cache", "NUMBA_CACHE_DIR": "", "PYTHONDONTWRITEBYTECODE": "1"}
    printed = python(code, package, **nowhere)
    assert "{'trios': ['S< M< L<', 'LMS']" in printed
    assert printed.endswith("None")


def test_importing_the_package_imports_no_torch_no_pictures_and_no_web() -> None:
    heavy = ["torch", "stable_baselines3", "sb3_contrib", "tensorboard", "ray", "pyspiel", "pandas", "IPython"]
    heavy += ["pygame", "PIL", "matplotlib"]
    heavy += ["fastapi", "flask", "aiohttp", "tornado", "uvicorn", "starlette", "websockets", "requests", "httpx", "http.server"]
    code = f"""
import sys
for name in pe.game_names():
    game = pe.make_game(name)
    batch = pe.Batch(game, 2)
    for agent in ("random", "greedy"):
        pe.make_agent(agent, game)
print([name for name in {heavy!r} if name in sys.modules])
"""
    assert python(code) == "[]"
