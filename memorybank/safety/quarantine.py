"""Lines that read like instructions to a model are held back for review, not injected.

Word patterns of each language, in its pack, tuned on ``tests/memorybank/corpus``: every attack there is caught and no
sentence from ordinary work is. This is one fence of several, not the wall: memory is also
quoted as data, cited, and shown to people.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator

from memorybank.language import Words, either, filled, packs, plain
from memorybank.language.characters import unjoined
from memorybank.language.pack import Instructions

OVERRIDE = "tells a model to drop its instructions"
PERSONA = "gives a model another role"
STANDING = "commands every future answer"
REVEAL = "asks for hidden prompts or secrets"
ROLE = "forges a role, heading or control token"
TOOL = "forges a tool call"
EXFILTRATION = "sends data away"
CONCEALMENT = "hides something from the user"

_TAGS = 0xE0000  # invisible copies of ASCII, used to smuggle text past people


def reason(text: str) -> str:
    """Why ``text`` should not be shown to a model, or "" when it is fine. Linear in its length."""
    shown = as_read(text)
    if _SHOUTED.search(shown):
        return ROLE
    folded = shown.casefold()
    return next((why for why, pattern in _PATTERNS if pattern.search(folded)), "")


def as_read(text: str) -> str:
    """What a model would read: one form per character, hidden characters gone, smuggled ASCII shown."""
    text = "".join(chr(ord(c) - _TAGS) if 0xE0020 <= ord(c) <= 0xE007E else c for c in text)
    text = unicodedata.normalize("NFKC", unjoined(plain(text)))
    return " ".join(text.replace("’", "'").split())


_SHOUTED = re.compile(
    r"(?:^|[.!?\]\n] )\W{0,4}(?:SYSTEM|ASSISTANT|DEVELOPER|ADMIN|ROOT|SYSTEM PROMPT|SYSTEM MESSAGE|SYSTEM OVERRIDE)\s?:"
    r"|(?:BEGIN|END)(?: OF)? (?:SYSTEM )?(?:PROMPT|INSTRUCTIONS|MEMORY|TRANSCRIPT|CONTEXT)\b"
    r"|^#{1,6} ?(?:SYSTEM|POLICY)\b"
)

# Control tokens, markup and links: the same in every language.
_FORMS: dict[str, tuple[str, ...]] = {
    ROLE: (
        r"<\|?/?(?:im_start|im_end|im_sep|endoftext|endofprompt|system|user|assistant|end_of_turn|start_of_turn|eot_id|begin_of_text|end_of_text|start_header_id|end_header_id|fim_\w+|channel|message|bos|eos|instructions?|admin|developer|human)\|?>",
        r"<\|[^|<>]{1,40}\|>|\[/?inst\]|<</?sys>>|<｜|<\|?(?:begin|end)▁of",
    ),
    TOOL: (
        r"</?(?:tool_calls?|function_calls?|tool_use|tool_result|invoke|function|antml:\w+)\b[^<>]{0,200}>|<(?:tool|function)=",
        r"[\"'](?:name|function|tool|tool_name|recipient_name)[\"']\s?:\s?[\"'{].{1,120}[\"'](?:arguments|parameters|input|args)[\"']\s?:",
        r"[\"']?\b(?:tool_calls|function_call)\b[\"']?\s?:\s?[\[{]",
        r"\bto=functions\.|\bfunctions\.\w{1,40}\(|^action\s?: .{1,80}action input\s?:",
        r"\[tool_(?:calls?|results?)\]",
    ),
    EXFILTRATION: (
        r"!\[[^\]]{0,200}\]\(\s?(?:https?:)?//[^)\s]{1,300}[?&=#{]",
        r"https?://[^\s)]{1,300}(?:\{[^}]{0,60}\}|\$\{|%7b|<[a-z _]{2,40}>|\[[a-z _]{2,40}\])",
        r"\bjavascript\s?:|\bdata\s?:text/html",
    ),
}
_OF_LANGUAGES: dict[str, Callable[[Instructions], Words]] = {
    ROLE: lambda said: said.role,
    TOOL: lambda said: said.tool,
    EXFILTRATION: lambda said: said.exfiltration,
    OVERRIDE: lambda said: said.override,
    PERSONA: lambda said: said.persona,
    STANDING: lambda said: said.standing,
    REVEAL: lambda said: said.reveal,
    CONCEALMENT: lambda said: said.concealment,
}


def _spoken(of: Callable[[Instructions], Words]) -> Iterator[str]:
    """The patterns of every language, with their parts."""
    for said in (pack.instructions for pack in packs()):
        parts = {name: f"(?:{either(words)})" for name, words in said.parts.items()}
        yield from (filled(pattern, parts) for pattern in of(said))


_PATTERNS = tuple(
    (why, re.compile("|".join(f"(?:{one})" for one in (*_FORMS.get(why, ()), *_spoken(of)))))
    for why, of in _OF_LANGUAGES.items()
)
