"""The documentation: its code runs, its links lead somewhere, its commands exist, what is made from docstrings is up to date."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import pyramid_envs as pe
from docs import api

ROOT = Path(__file__).resolve().parent.parent
TEXTS = {page: page.read_text(encoding="utf-8") for page in sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])}
OWN_AGENT = ROOT / "docs" / "your_own_agent.md"
GUIDE = ROOT / "docs" / "adding_a_game.md"
EXTRA_GAME = ROOT / "tests" / "extra_games" / "tic_tac_toe"
FOLDERS = "pyramid_envs|training|configs|tests|docs|benchmarks"
BLOCK = re.compile(r"^```(.*)\n([\s\S]*?)^```$", re.MULTILINE)
# What stands after the three backticks. Everything marked as Python is run; pyi shows declarations.
LANGUAGES = {"python", "pyi", "bash", "text", "json", "yaml"}

COMMANDS = sorted({module for text in TEXTS.values() for module in re.findall(r"python -m ([\w.]+\w)", text)})

pages = pytest.mark.parametrize("page", TEXTS, ids=lambda page: page.relative_to(ROOT).as_posix())


def run(page: Path, constants: dict[str, int] | None = None) -> dict[str, Any]:
    """Run the Python of a page from top to bottom, with other values for some of its constants; the names it defines."""
    scope: dict[str, Any] = {"__name__": "__main__"}
    for language, code in BLOCK.findall(TEXTS[page]):
        if language == "python":
            for name in constants or {}:
                code = re.sub(rf"^{name} = [\d_]+", f"{name} = {constants[name]}", code, flags=re.MULTILINE)
            exec(compile(code, str(page), "exec"), scope)
    return scope


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in an empty folder."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def torch_as_before() -> Any:
    """Take back what a page sets in torch for its whole process."""
    import torch

    threads = torch.get_num_threads()
    yield
    torch.set_num_threads(threads)


# ---------------------------------------------------------------------------------------------------------------- code


@pages
def test_code_is_marked_by_its_language(page: Path) -> None:
    assert {language for language, _ in BLOCK.findall(TEXTS[page])} <= LANGUAGES


@pytest.mark.parametrize(
    "page",
    [page for page in TEXTS if "```python" in TEXTS[page] and page != OWN_AGENT],
    ids=lambda page: page.relative_to(ROOT).as_posix(),
)
@pytest.mark.usefixtures("elsewhere", "torch_as_before")
def test_the_code_of_a_page_runs(page: Path) -> None:
    run(page)


@pytest.mark.usefixtures("elsewhere", "torch_as_before")
def test_the_loop_of_ones_own_runs() -> None:
    scope = run(OWN_AGENT, {"DECISIONS": 2000, "GAMES": 4, "LESSONS": 300, "MATCH": 20})
    assert scope["optimizer"].state, "nothing was learned from"
    assert scope["match"].games == 20


@pytest.mark.slow
@pytest.mark.usefixtures("elsewhere", "torch_as_before")
def test_the_loop_of_ones_own_learns_to_beat_random_play() -> None:
    assert run(OWN_AGENT)["match"].win_rate.low > 0.8


# ------------------------------------------------------------------------------------------------------- links and names


@pages
def test_links_lead_somewhere(page: Path) -> None:
    for target, anchor in re.findall(r"\]\(([^)#\s]*)(#[^)\s]*)?\)", TEXTS[page]):
        if re.match(r"[a-z]+:", target):
            continue
        file = page.parent / target if target else page
        assert file.exists(), f"{page.name} links to {target}, which does not exist"
        if anchor:
            headings = re.findall(r"^#+ (.*)$", file.read_text(encoding="utf-8"), re.MULTILINE)
            anchors = {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
            assert anchor[1:] in anchors, f"{page.name} links to {target}{anchor}, but there is no such heading"


@pages
def test_files_that_are_named_exist(page: Path) -> None:
    named = re.findall(rf"`((?:{FOLDERS})/[\w./-]*|[A-Z]+\.(?:md|cff))`", TEXTS[page])
    for name in named:
        assert (ROOT / name).exists(), f"{page.name} names {name}, which does not exist"


@pytest.mark.parametrize("module", COMMANDS)
def test_commands_that_are_named_exist_and_explain_themselves(module: str) -> None:
    assert importlib.util.find_spec(module), f"there is no {module}"
    told = subprocess.run([sys.executable, "-m", module, "--help"], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert told.returncode == 0, told.stderr
    assert "usage" in told.stdout.lower()


# ----------------------------------------------------------------------------------------------- pages made from docstrings


@pytest.mark.parametrize("page", sorted(api.pages()), ids=lambda page: page.name)
def test_pages_made_from_docstrings_are_up_to_date(page: Path) -> None:
    assert page.exists(), f"make {page.relative_to(ROOT)} by `make docs`"
    assert page.read_text(encoding="utf-8") == api.pages()[page], f"{page.relative_to(ROOT)} is out of date: run `make docs`"


def test_there_are_no_manual_pages_of_games_that_do_not_exist() -> None:
    assert set((ROOT / "docs" / "games").glob("*.md")) <= api.pages().keys()


def test_the_reference_holds_every_public_name() -> None:
    listed = {name for modules in api.CONTENTS.values() for names in modules.values() for name in names}
    assert set(pe.__all__) <= listed, "add them to CONTENTS in docs/api.py"
    text = api.pages()[ROOT / "docs" / "api.md"]
    for name in pe.__all__:
        assert re.search(rf"^### pe\.{name}\n\n.+", text, re.MULTILINE), f"{name} is not where docs/api.py says"


# --------------------------------------------------------------------------------------------------- the guide to a new game


@pytest.mark.parametrize("file", sorted(EXTRA_GAME.glob("*.py")), ids=lambda file: file.name)
def test_the_guide_shows_the_files_of_its_game(file: Path) -> None:
    section = re.search(rf"^## \d\. `{re.escape(file.name)}`\n([\s\S]*?)^## ", TEXTS[GUIDE], re.MULTILINE)
    assert section, f"the guide has no section on {file.name}"
    assert BLOCK.findall(section[1]) == [("python", file.read_text(encoding="utf-8"))]
