"""Pack sections: everything a language pack must define, even if empty.

In the file a string is words separated by spaces, an array is one phrase or pattern per element, and a table is words
by meaning. A pattern is a regular expression that ignores case and has no capturing groups.
"""

from collections.abc import Mapping
from dataclasses import dataclass

Words = tuple[str, ...]
WordsByMeaning = Mapping[str, Words]


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Words by how much information they carry, in lower case."""

    #: Words without content; text with one or two of them is a sentence.
    function: Words
    #: Praise and small talk: a sentence of these words only is not worth keeping.
    praise: Words
    #: Two lines that differ only in these words say the same.
    articles: Words
    #: A full stop after these does not end a sentence.
    abbreviations: Words


@dataclass(frozen=True, slots=True)
class ConversationalWords:
    """Conversational words that a fact does not need."""

    #: Phrases before the point; cut only before punctuation or a name.
    openers: Words
    #: Phrases that announce a statement. The rest must be able to stand alone.
    lead_ins: Words
    #: Words that change no sentence: "basically", but not "very".
    fillers: Words
    #: Phrases that say nothing between commas: ", you know,".
    asides: Words
    #: Patterns of whole sentences that say nothing: "See you Monday."
    pleasantries: Words
    #: Words for asking, telling and summing up: in a question they describe the answer, not its subject.
    asking: Words
    #: Patterns: beginnings of sentences that depend on the sentence before. A false match only joins two sentences, so
    #: the list may be generous.
    leaning: Words
    #: First words of answers; sentences that begin with another little word are mostly not answers.
    answering: Words
    #: Hesitation sounds; one that is a word elsewhere counts only in this language.
    hesitations: Words
    #: Function words that may stand twice in a row; all others are a stammer then.
    doubled: Words
    #: Words of ``doubled`` that are still a stammer where a speaker hesitates anyway.
    resumed: Words
    #: Patterns: no word is cut from a clause with one of these. The list may be generous.
    negations: Words


@dataclass(frozen=True, slots=True)
class Clauses:
    """Where a long sentence may be cut after a comma."""

    comma: Words
    #: After a comma these words begin an independent clause; …
    opening: Words
    #: … these words only if one of ``subjects`` (patterns) follows.
    before_subject: Words
    subjects: Words
    #: Words that are removed when the clause becomes a sentence.
    dropped: Words
    #: A clause that begins with one of these stays with the clause that depends on it.
    conditions: Words
    #: Words that join the last of several names: "and".
    joining: Words


@dataclass(frozen=True, slots=True)
class DateWords:
    """Dates in words. Phrases are listed under their meaning: ``"-1 week"`` is the week before the speaker's."""

    #: Twelve months, each with all its names, the full one first; seven weekdays from Monday.
    months: Words
    weekdays: Words
    #: Words that show that a sentence is about time.
    signs: Words
    #: Between day, month and year ("3 de mayo"); between month and day; after the day ("3rd").
    of: Words
    before_day: Words
    ordinals: Words
    #: Words for day, week, month and year, and for the numbers before them.
    units: WordsByMeaning
    numbers: WordsByMeaning
    #: Unambiguous phrases, and patterns that include the neighbours which make a phrase unambiguous.
    phrases: WordsByMeaning
    patterns: WordsByMeaning
    #: Words before and after a number with its unit that mean "ago": "vor", "前"; and patterns that must not follow.
    ago_before: Words
    ago_after: Words
    not_ago: Words
    #: Words before and after a weekday that mean the most recent one, and patterns that may be attached to its name.
    last_before: Words
    last_after: Words
    weekday_tail: Words
    #: Patterns before the weekday of another calendar week, by the number of weeks from now.
    week_and_day: WordsByMeaning
    #: In scripts without spaces: characters before a phrase or number that make it another word, and patterns after a
    #: phrase that do so.
    not_behind: Words
    not_counted: Words
    not_before: Words
    #: Named patterns for the language's own module; then no other module reads its phrases.
    grammar: WordsByMeaning
    turns: WordsByMeaning
    seasons: WordsByMeaning


@dataclass(frozen=True, slots=True)
class NumberWords:
    """Numbers in words, and the words that scale them."""

    #: Words for 1, 2, 3, … and for 10, 20, 30, …; compounds use the first word of each.
    ones: Words
    tens: Words
    #: How tens and ones are joined: "{tens}-{ones}".
    compounds: Words
    #: Words with other meanings: they support a number but claim none.
    ambiguous: Words
    #: By value: "k", "million".
    scales: WordsByMeaning
    #: Endings attached to a number that are not its unit: "th", "s".
    endings: Words


@dataclass(frozen=True, slots=True)
class KindPatterns:
    """Patterns for the kind of a sentence; whole words in languages with spaces."""

    decided: Words
    #: A sentence with one of these is not a decision.
    undecided: Words
    preferred: Words
    #: What answers are, what they consist of, and how they are.
    answer_form: Words
    #: Beginnings of sentences that request a piece of work; these patterns include their own boundaries.
    requested: Words
    #: The purpose of the project; the responsibilities of people; open or owed work.
    purpose: Words
    role: Words
    owed: Words
    #: A model's names for the kinds of lines when it answers in this language.
    labels: WordsByMeaning


@dataclass(frozen=True, slots=True)
class ChangePatterns:
    """How a sentence says that one value replaces another. OLD and NEW stand for the values."""

    #: Verbs of change (patterns), and patterns that count after one, before one, and alone.
    verbs: Words
    after_verb: Words
    before_verb: Words
    alone: Words
    #: Words that open a parenthesis with the old value: "(was 3 May)".
    was: Words
    #: A value ends before these words, and before those of ``predicates``.
    stop: Words
    #: After both values, these say something of the whole change: "the move from A to B was rejected".
    predicates: Words
    #: What these begin depends on another clause: "he denies that …". It counts where something was decided.
    complementizers: Words
    #: A sentence with one of these is hypothetical and replaces nothing.
    hedged: Words
    #: Words common to all changes; two facts that share only these are not about the same thing.
    generic: Words


@dataclass(frozen=True, slots=True)
class StatePatterns:
    """Patterns for temporary states, and for their end."""

    #: A state that holds for now: "still", "currently"; …
    ongoing: Words
    #: … or something that is awaited: "still no", "open question".
    waiting: Words
    #: End of an ongoing state: "revoked", "switched off"; …
    ended: Words
    #: … also an end of waiting: "arrived", "answered".
    arrived: Words
    #: A new value holds from now on, with NEW in its place: "moved to NEW".
    moved: Words
    #: A sentence with one of these announces an end that has not happened yet.
    upcoming: Words
    #: Words that speakers use for themselves.
    own: Words


@dataclass(frozen=True, slots=True)
class ForgetPhrases:
    """How people ask to have something forgotten. Patterns for whole sentences, none about code or files."""

    #: Patterns for words that may come first, such as "please" or "sorry".
    lead: Words
    #: ``{{about}}`` in a pattern stands for the subject; without it the previous message is meant.
    forget: Words
    #: The confirmation, one sentence each.
    done: Words
