"""Languages: character classes, and the word lists and patterns of each language pack, loaded once."""

from memorybank.language.characters import is_cjk, plain
from memorybank.language.pack_loader import (
    Pack,
    PartialPack,
    collect,
    collect_for_masking,
    detect_language,
    meanings,
    pack,
    packs,
    partial_packs,
    whole_words,
)
from memorybank.language.patterns import alternation, fill_in, literals
from memorybank.language.sections import Words

__all__ = [
    "Pack", "PartialPack", "Words", "alternation", "collect", "collect_for_masking", "detect_language", "fill_in",
    "is_cjk", "literals", "meanings", "pack", "packs", "partial_packs", "plain", "whole_words",
]  # fmt: skip
