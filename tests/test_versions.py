"""Versions: what is tested is what pyproject.toml promises."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
BASE = [Requirement(text) for text in PROJECT["dependencies"]]
EXTRAS = {extra: [Requirement(text) for text in texts] for extra, texts in PROJECT["optional-dependencies"].items()}
LOWEST = ROOT / "constraints-lowest.txt"
TESTED = sorted({*ROOT.glob("constraints*.txt")} - {LOWEST})


def pins(file: Path) -> dict[str, str]:
    """Package -> version."""
    lines = [line for line in file.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
    return {canonicalize_name(name): version for name, version in (line.split("==") for line in lines)}


@pytest.mark.parametrize("requirement", BASE, ids=str)
def test_the_lowest_version_that_is_tested_is_the_lowest_that_is_allowed(requirement: Requirement) -> None:
    (bound,) = requirement.specifier
    assert bound.operator == ">="
    lowest = pins(LOWEST)[requirement.name]
    assert lowest == bound.version or lowest == f"{bound.version}.0"


@pytest.mark.parametrize("extra", ["", *EXTRAS])
def test_every_requirement_is_pinned_to_a_version_that_it_allows(extra: str) -> None:
    for requirement in EXTRAS[extra] if extra else BASE:
        name = canonicalize_name(requirement.name)
        pinned = {pins(file)[name] for file in TESTED if name in pins(file)}
        assert pinned, f"{name} has no version in {TESTED[0].name}: add it with what it needs"
        assert all(requirement.specifier.contains(version) for version in pinned), name


def test_the_package_needs_only_four_others() -> None:
    assert {requirement.name for requirement in BASE} == {"numpy", "numba", "gymnasium", "pettingzoo"}
