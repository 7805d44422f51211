"""Writes the pages that are made from docstrings: docs/api.md, and docs/games/NAME.md, a manual page for each game.

Run ``make docs`` (``python -m docs.api``) after a change of a public docstring or signature; a test fails while a page is out of
date.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import pyramid_envs as pe

ROOT = Path(__file__).resolve().parent.parent
MADE = "<!-- Made by `python -m docs.api` from {source}: edit that. -->"

# What docs/api.md holds: heading -> module -> names. Every name of pyramid_envs.__all__ is among them (a test looks).
CONTENTS: dict[str, dict[str, list[str]]] = {
    "Games": {
        "pyramid_envs.registry": ["make_game", "game_names"],
        "pyramid_envs.envs.registration": ["add_games_folder"],
        "pyramid_envs.game": ["Game"],
        "pyramid_envs.kernels": ["CHANCE", "TERMINAL"],
    },
    "Many games at once": {"pyramid_envs.batch": ["Batch", "Step"]},
    "PettingZoo": {"pyramid_envs.envs.aec": ["aec_env", "GameEnv", "IllegalActionLoses"]},
    "Gymnasium": {"pyramid_envs.envs.single": ["SeatEnv"], "pyramid_envs.envs.vector": ["SeatVectorEnv"]},
    "stable-baselines3": {"pyramid_envs.envs.sb3": ["SB3VecEnv"]},
    "Pictures": {"pyramid_envs.envs.rendering": ["Renderer"]},
    "OpenSpiel": {"pyramid_envs.envs.openspiel": ["register"]},
    "Agents": {"pyramid_envs.agents": ["make_agent", "Agent", "Thought"], "pyramid_envs.agents.learned": ["LearnedAgent"]},
    "Evaluation": {"pyramid_envs.evaluation.arena": ["play_match", "Match", "SeatRecord", "Share", "play_games", "Games"]},
    "Records of games": {
        "pyramid_envs.play.recorder": ["Recorder", "SeatRecorder", "RecordedBatch"],
        "pyramid_envs.play.record": ["Record", "Course", "read", "append"],
    },
    "Errors": {
        "pyramid_envs.errors": [
            "PyramidError",
            "UnknownGameError",
            "OptionError",
            "IllegalActionError",
            "ActionNameError",
            "PositionError",
            "AgentError",
            "CheckpointError",
            "SolutionError",
            "RecordError",
            "PlayError",
            "MissingExtraError",
        ]
    },
}


def pages() -> dict[Path, str]:
    """Every page with its text."""
    games = sorted((ROOT / "pyramid_envs" / "games").glob("*/__init__.py"))
    manuals = {ROOT / "docs" / "games" / f"{source.parent.name}.md": manual(source) for source in games}
    return {ROOT / "docs" / "api.md": api(manuals), **manuals}


def api(manuals: dict[Path, str]) -> str:
    """The reference of the public names."""
    lines = [MADE.format(source="the docstrings"), "# API reference", ""]
    lines += ["What `import pyramid_envs as pe` gives, and the classes of the environments."]
    for heading, modules in CONTENTS.items():
        lines += ["", f"## {heading}"]
        for module, names in modules.items():
            for name in names:
                lines += ["", *entry(module, name)]
        if heading == "Games":
            links = ", ".join(f"[{text.splitlines()[1][2:]}](games/{path.name})" for path, text in manuals.items())
            lines += ["", f"The games' manual pages: {links}."]
    return "\n".join(lines) + "\n"


def entry(module: str, name: str) -> Iterator[str]:
    """A public function, class or constant."""
    path = ROOT / Path(*module.split("."))
    path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    source = path.read_text(encoding="utf-8").splitlines()
    yield from [f"### {'pe' if name in pe.__all__ else module}.{name}", ""]
    for node in ast.parse("\n".join(source)).body:
        if isinstance(node, ast.FunctionDef) and node.name == name:
            yield from [f"`{name}{signature(node)}`", "", *prose(node)]
        elif isinstance(node, ast.ClassDef) and node.name == name:
            yield from whole_class(node, source)
        elif isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name:
            yield f"`{ast.unparse(node.value)}`: {source[node.lineno - 1].partition('# ')[2]}"


def whole_class(node: ast.ClassDef, source: list[str]) -> Iterator[str]:
    """A class with its fields as they are declared and its public methods; a protocol as it is written."""
    methods = {part.name: part for part in node.body if isinstance(part, ast.FunctionDef)}
    if "__init__" in methods:
        yield from [f"`{node.name}{signature(methods['__init__'])}`", ""]
    yield from prose(node)
    protocol = any(ast.unparse(base) == "Protocol" for base in node.bases)
    declared = [part for part in node.body if isinstance(part, ast.AnnAssign)] if not protocol else node.body[1:]
    if declared:
        yield from ["", "```pyi", source[node.lineno - 1], *source[declared[0].lineno - 1 : declared[-1].end_lineno], "```"]
    for name, method in methods.items():
        if not protocol and not name.startswith("_"):
            attribute = any(ast.unparse(decorator) == "property" for decorator in method.decorator_list)
            yield from ["", f"#### `{name}{'' if attribute else signature(method)}`", "", *prose(method)]


def signature(node: ast.FunctionDef) -> str:
    """The parameters and the result of a function, without self and cls."""
    parameters = re.sub(r"^(self|cls)(, |$)", "", ast.unparse(node.args)).replace("=", " = ")
    result = f" -> {ast.unparse(node.returns)}" if node.returns and ast.unparse(node.returns) != "None" else ""
    return f"({parameters}){result}"


def prose(node: ast.FunctionDef | ast.ClassDef) -> list[str]:
    """A docstring in Markdown: its sections become lists."""
    lines: list[str] = []
    section = ""
    for line in (ast.get_docstring(node) or "").splitlines():
        if line in ("Args:", "Attributes:", "Returns:", "Raises:"):
            section = line
            lines += [f"**{section[:-1]}**", ""]
        elif section and line.startswith("    "):
            name, colon, meaning = line.strip().partition(": ")
            begins = colon and not line.startswith("     ") and section != "Returns:"
            lines.append(f"- `{name}`: {meaning}" if begins else line[4:] if section == "Returns:" else f"  {line.strip()}")
        else:
            section = section if not line else ""
            lines.append(line)
    return lines


def manual(source: Path) -> str:
    """A game's manual page: its docstring in Markdown; what is laid out in columns stays as it is."""
    text = source.read_text(encoding="utf-8")
    docstring = ast.get_docstring(ast.parse(text)) or ""
    title = re.findall(r'title="(.*)"', text)[0]
    lines = [MADE.format(source=source.relative_to(ROOT).as_posix()), f"# {title}"]
    for block in docstring.split("\n\n"):
        rows = block.splitlines()
        if len(rows) > 1 and not rows[0].startswith(" ") and rows[1].startswith("    "):
            lines += ["", f"## {rows.pop(0)}"]
        shown = laid_out(inspect.cleandoc("\n" + "\n".join(rows)), indented=all(row.startswith(" " * 8) for row in rows))
        lines += ["", *shown] if shown else []
    return "\n".join(lines) + "\n"


def laid_out(text: str, indented: bool) -> list[str]:
    """A paragraph or a numbered list as it is; columns and pictures as a block that keeps them."""
    rows = text.replace("::", ":").splitlines()
    begins = [row for row in rows if not row.startswith(" ")]
    numbered = all(re.match(r"\d+\. ", row) for row in begins)
    columns = indented or len(begins) < len(rows) or any("  " in row.strip() for row in rows)
    if rows == [":"]:
        return []
    return ["```text", *rows, "```"] if columns and not numbered else rows


def main() -> None:
    """Write the pages that have changed."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    for path, text in pages().items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
            print(path)


if __name__ == "__main__":
    main()
