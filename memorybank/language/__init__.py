"""What we know of each language: its words and patterns, one file a language, read once."""

from memorybank.language.pack import Pack, Words
from memorybank.language.patterns import either, filled, spelt, whole
from memorybank.language.reading import every, meaning, pack, packs

__all__ = ["Pack", "Words", "either", "every", "filled", "meaning", "pack", "packs", "spelt", "whole"]
