"""Lines that tell a model what to do are held back for review, not injected.

Three looks, all linear: at the marks of prompts and protocols, at phrases that each language has for it (in its pack),
and at what a sentence speaks of (``injection_rules``). Tuned on ``tests/memorybank/safety/corpus``: every attack
there is caught and no sentence from ordinary work is. This is one fence of several, not the wall: memory is also
quoted as data, cited, and shown to people.
"""

import re
from collections.abc import Callable, Iterator

from memorybank.language import Words, either, filled, packs
from memorybank.language.safety_sections import Instructions
from memorybank.safety.deobfuscation import undisguised
from memorybank.safety.injection_rules import CONCEALMENT, OVERRIDE, PERSONA, REVEAL, STANDING, direction, used

ROLE = "forges a role, heading or control token"
TOOL = "forges a tool call"
EXFILTRATION = "sends data away"
#: Words and spaces of a text in which the telling ones are looked for: there are as many looks as words.
MOST_PIECES = 200


def reason(text: str) -> str:
    """Why ``text`` should not be shown to a model, or "" when it is fine. Linear in its length."""
    shown = undisguised(text)
    if _SHOUTED.search(shown):
        return ROLE
    folded = used(shown).casefold()
    return next((why for why, pattern in _PATTERNS if pattern.search(folded)), "") or direction(shown)


def telling_words(text: str) -> list[tuple[str, bool]]:
    """``text`` in pieces, each with whether it is of what makes it read like an instruction.

    Found by leaving words out: what remains is no instruction any more if one more word is taken away.
    """
    pieces = re.findall(r"\s+|\S+", text)
    left = dict(enumerate(pieces)) if len(pieces) <= MOST_PIECES and reason(text) else {}
    for at in list(left):
        if not pieces[at].isspace() and reason("".join(piece for place, piece in left.items() if place != at)):
            del left[at]
    return [(piece, at in left and not piece.isspace()) for at, piece in enumerate(pieces)]


def commands(text: str, by: str = "") -> str:
    """Why nothing of a message, written by somebody of that name, is shown: it commands a model somewhere.

    With marks alone it may be talk about marks.
    """
    shown = undisguised(text)
    folded = used(shown).casefold()
    found = (why for why, pattern in _PATTERNS if why not in (ROLE, TOOL) and pattern.search(folded))
    return next(found, "") or direction(shown, by)


_SHOUTED = re.compile(
    r"(?:^|[.!?\]\n] )\W{0,4}(?:SYSTEM|ASSISTANT|DEVELOPER|ADMIN|ROOT|SYSTEM PROMPT|SYSTEM MESSAGE|SYSTEM OVERRIDE)\s?:"
    r"|(?:BEGIN|END)(?: OF)? (?:SYSTEM )?(?:PROMPT|INSTRUCTIONS|MEMORY|TRANSCRIPT|CONTEXT)\b"
    r"|^#{1,6} ?(?:SYSTEM|POLICY)\b"
)

# Control tokens, markup and links: the same in every language.
_FORMS: dict[str, tuple[str, ...]] = {
    ROLE: (
        r"<\|?/?(?:im_start|im_end|im_sep|endoftext|endofprompt|system|user|assistant|end_of_turn|start_of_turn|eot_id|begin_of_text|end_of_text|start_header_id|end_header_id|fim_\w+|channel|message|bos|eos|instructions?|admin|developer|human)\|?>",
        # A chat as JSON: who, and what was said.
        r"[\"'](?:role|author|speaker|sender)[\"']\s?:\s?[\"'][^\"']{1,80}[\"'].{0,120}[\"']\w{2,20}[\"']\s?:",
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
