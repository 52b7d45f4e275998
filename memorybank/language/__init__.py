"""Languages: character classes, and the word lists and patterns of each language pack, loaded once."""

from memorybank.language.characters import is_cjk, plain
from memorybank.language.pack import Beyond, Pack
from memorybank.language.pack_loader import beyond, every, masking, meaning, pack, packs, spoken
from memorybank.language.patterns import either, filled, spelt, whole
from memorybank.language.sections import Words

__all__ = [
    "Beyond", "Pack", "Words", "beyond", "either", "every", "filled", "is_cjk", "masking", "meaning", "pack", "packs",
    "plain", "spelt", "spoken", "whole",
]  # fmt: skip
