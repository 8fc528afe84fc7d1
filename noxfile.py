"""Environments wider than the everyday one: ``nox -s tests`` with the oldest and newest NumPy."""

import nox

nox.options.sessions = ["tests", "lint"]
nox.options.default_venv_backend = "uv|virtualenv"


@nox.session(python=["3.11", "3.12", "3.13"])
@nox.parametrize("numpy", ["oldest", "newest"])
def tests(session: nox.Session, numpy: str) -> None:
    """Run the fast tests."""
    session.install(".[test]", *(["numpy==2.0.*"] if numpy == "oldest" else []))
    session.run("python", "-m", "pytest", *session.posargs)


@nox.session
def lint(session: nox.Session) -> None:
    """Run scripts/check."""
    session.install("-e", ".[test,lint]")
    session.run("bash", "scripts/check", external=True)


@nox.session
def bench(session: nox.Session) -> None:
    """Run the benchmark table with every peer."""
    session.install(".[bench]")
    session.run("python", "-m", "benchmarks.run", *session.posargs)
