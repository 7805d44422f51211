"""Figures as tables, on the screen and in Markdown, and what they were measured on."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from rich.console import Console
from rich.table import Table

from pyramid_envs.threads import cores


@dataclass(frozen=True)
class Sheet:
    """A table of figures."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]

    def show(self) -> None:
        """Print it."""
        table = Table(*self.columns, title=self.title)
        for row in self.rows:
            table.add_row(*row)
        console = Console()
        console.width = max(console.width, 120)  # in a file too
        console.print(table)

    def markdown(self) -> str:
        """The same for a page."""
        lines = [self.columns, ["---"] * len(self.columns), *self.rows]
        return f"**{self.title}**\n\n" + "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def write_markdown(file: Path, sheets: Iterable[Sheet], *notes: str) -> None:
    """Tables and notes, one below the other, ready for a page."""
    file.write_text("\n".join([*(sheet.markdown() for sheet in sheets), *notes, ""]), encoding="utf-8")


def machine(packages: Sequence[str]) -> str:
    """Processor, cores and versions: of Python and of those of the packages that are installed."""
    told = [f"{_processor()}, {cores()} cores", f"Python {platform.python_version()}"]
    for package in packages:
        try:
            told.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            continue
    return ", ".join(told)


def _processor() -> str:
    """Its name where the system tells it."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
