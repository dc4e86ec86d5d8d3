"""Where this installation lies. Nothing else counts the folders above its own file."""

from pathlib import Path

PACKAGES = Path(__file__).resolve().parents[1]
"""The folder that harness, analysis, scenarios and mqlab lie in: what a child process needs on its path."""
