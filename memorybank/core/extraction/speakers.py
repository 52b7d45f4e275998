"""Who speaks in a turn, where the text itself says so ("Anna: …")."""

import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace

from memorybank.core.turns import Turn, Utterance

NAME = re.compile(r"([^\W\d_][\w.'’-]{0,30}(?: [^\W\d_][\w.'’-]{0,30}){0,2})[:：]\s*")


def named(turns: Sequence[Turn], known: Collection[str] = ()) -> list[Turn]:
    """Turns whose utterances name their speaker ("Anna: …") with that name moved where it belongs.

    A prefix is a name when it is ``known`` to be one in this bank, or opens at least three messages of
    its side and, with the others that do, three of four messages of that side. "Note: …" does not.
    """
    names = set(known)
    for role in ("user", "assistant"):
        spoken = [u.text for turn in turns for u in turn.utterances if u.role == role and u.text.strip()]
        prefixes = Counter(match[1] for text in spoken if (match := NAME.match(text.lstrip())))
        regular = {name: times for name, times in prefixes.items() if times > 2 and not name[0].islower()}
        if sum(regular.values()) * 4 >= len(spoken) * 3:
            names |= regular.keys()
    if not names:
        return list(turns)
    return [replace(turn, utterances=tuple(with_name(u, names) for u in turn.utterances)) for turn in turns]


def with_name(utterance: Utterance, names: Collection[str]) -> Utterance:
    """The utterance with its leading name as speaker, if it has one of ``names``."""
    text = utterance.text.lstrip()
    match = NAME.match(text)
    if match is None or match[1] not in names or utterance.role == "tool":
        return utterance
    return replace(utterance, speaker=match[1], text=text[match.end() :])
