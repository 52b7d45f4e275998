"""What kind of fact a sentence is, by signs that are hard to misread."""

import re

DECISION = re.compile(
    r"\b(?:decided(?: to| on| against| that|:)|we(?: have|['’]ve)? agreed|settled on|decision:|we chose"
    r"|(?:we|we['’]ll|let['’]s|we will|we['’]re|we are) go(?:ing)? with"
    r"|entschieden|beschlossen|vereinbart|wir nehmen|(?:on a|nous avons) (?:décidé|choisi|convenu)"
    r"|decidimos|hemos decidido|acordamos|elegimos|quedamos en|escolhemos|combinamos|ficou decidido)(?!\w)"
    r"|决定|決定し|決めま(?:す|した)|ことにしました|商定|敲定",
    re.IGNORECASE,
)
UNDECIDED = re.compile(
    r"n['’]t (?:yet )?(?:decided|agreed)|\bnot (?:yet )?(?:decided|agreed)|\bif we\b|\bnicht entschieden"
    r"|\bnoch nicht\b|\bpas (?:encore )?décidé|\bno (?:hemos|decidimos)|\bnão decidimos|没有?决定|未定|还没",
    re.IGNORECASE,
)
PREFERENCE = re.compile(
    r"\bI(?: \w+)? (?:prefer|love|like|hate|dislike|enjoy|can['’]t stand)\b|\bmy favou?rite\b"
    r"|\bplease (?:always|never)\b|\ballergic to\b"
    r"|\bich (?:bevorzuge|mag|liebe|hasse)\b|\blieber\b"
    r"|\bje (?:préfère|déteste|n['’]aime pas)\b|\bj['’](?:aime|adore)\b"
    r"|\b(?:prefiero|me gusta|odio|me encanta|prefiro|eu gosto|adoro|odeio)\b"
    r"|我(?:更)?(?:喜欢|喜歡|讨厌|偏好|偏爱)|(?:が|は)(?:好き|嫌い|苦手)",
    re.IGNORECASE,
)


# What is asked of the assistant tells what was wanted, not what is so.
REQUEST = re.compile(
    r"(?:please |then |now |ok,? |so )?(?:make|write|give|show|draft|explain|summari[sz]e|translate|suggest|help"
    r"|compare|calculate|rewrite|shorten)\b(?: (?:me|us|a|an|the|this|that|it|my|our|these|those)\b|:)"
    r"|(?:can|could|would|will) you\b"
    r"|(?:bitte )?(?:mach|schreib|gib|zeig|erstell|fass|erklär|übersetz|vergleich)e? (?:mir|uns|das|die|den|eine?n?)\b"
    r"|(?:fais|écris|donne|montre|explique|résume|traduis)(?:-moi|-nous)?\b"
    r"|(?:haz|escribe|dame|danos|muéstrame|explícame|resume|traduce)(?:me|nos)?\b"
    r"|(?:faça|escreva|me dê|mostre|explique|resuma|traduza)\b|请|請|帮我",
    re.IGNORECASE,
)


def is_request(text: str) -> bool:
    """Whether the sentence asks for something to be made, in words that are hard to misread."""
    return REQUEST.match(text) is not None


def is_question(text: str) -> bool:
    """Ends like one, in any script."""
    return text.rstrip("\"'”’» )").endswith(("?", "？", "؟"))


def kind_of(text: str) -> str:
    """fact, decision, preference or question, by signs that are hard to misread."""
    if is_question(text):
        return "question"
    if DECISION.search(text) and not UNDECIDED.search(text):
        return "decision"
    return "preference" if PREFERENCE.search(text) else "fact"
