"""What we know of each language: its words and patterns, one file a language, read once."""

from memorybank.language.pack import Pack
from memorybank.language.patterns import either, spelt, whole
from memorybank.language.reading import every, pack, packs

__all__ = ["Pack", "either", "every", "pack", "packs", "spelt", "whole"]
