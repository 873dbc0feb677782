"""Tide tables for the terminal."""

__version__ = "0.2.1"
