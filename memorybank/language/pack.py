"""The sections of a pack: everything a language must say, be it that it has none.

In the file a string is words parted by spaces; an array is phrases or patterns, one each; a table is words by what
they mean. A pattern is a regular expression that is matched in any case, and brings no groups of its own.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

Words = tuple[str, ...]
Table = Mapping[str, Words]


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Words by what they are worth, in lower case."""

    #: They carry no content, and having one or two is what makes words a sentence.
    function: Words
    #: Praise and small talk: a sentence made of these tells nothing that is worth keeping.
    praise: Words
    #: Two lines that differ in these alone say the same.
    articles: Words
    #: A full stop behind these ends no sentence.
    abbreviations: Words


@dataclass(frozen=True, slots=True)
class Talk:
    """What only the moment needed."""

    #: Phrases spoken before the point is made; cut only where punctuation or a name follows.
    openers: Words
    #: Phrases that say that something is said. What follows must be able to stand alone.
    lead_ins: Words
    #: Words that can be left out of any sentence.
    intensifiers: Words
    #: Words of asking, telling and summing up: in a question they are about the answer, not about its subject.
    asking: Words
    #: Patterns: how a sentence begins that leans on the one before it. Joining the two costs nothing when a word
    #: is misread, so the list may be generous.
    leaning: Words
    #: Sounds of somebody who looks for words; one that is a word elsewhere counts where this language is spoken.
    hesitations: Words
    #: Function words that may be said twice in a row; all others are stammered then.
    doubled: Words
    #: Patterns: where one of these stands, no word of the clause is left out. The list may be generous.
    negations: Words


@dataclass(frozen=True, slots=True)
class Clauses:
    """Where a long sentence may be cut behind a comma."""

    comma: Words
    #: Behind a comma these begin a clause of its own; …
    opening: Words
    #: … these only if one of the ``subjects`` (patterns) follows.
    before_subject: Words
    subjects: Words
    #: They go where the clause becomes a sentence.
    dropped: Words
    #: What a clause hangs on that begins with one of these must stay with it.
    conditions: Words
    #: They join the last of several names to those before: "and".
    joining: Words


@dataclass(frozen=True, slots=True)
class Dates:
    """Dates in words. A phrase is filed under what it means: ``"-1 week"`` is the week before that of the speaker."""

    #: Twelve, each with all its names, the full one first; seven, from Monday.
    months: Words
    weekdays: Words
    #: Words that show that a sentence speaks of time.
    signs: Words
    #: Between day, month and year ("3 de mayo"); between month and day; behind the day ("3rd").
    of: Words
    before_day: Words
    ordinals: Words
    #: Words for day, week, month, year, and those for the numbers before them.
    units: Table
    numbers: Table
    #: Phrases that are never anything else, and patterns with the neighbours that make others sure.
    phrases: Table
    patterns: Table
    #: Around a number with its unit: "vor", "前"; and patterns of what must not follow then.
    ago_before: Words
    ago_after: Words
    not_ago: Words
    #: Around the weekday that was last, and patterns of what may hang on its name.
    last_before: Words
    last_after: Words
    weekday_tail: Words
    #: Patterns before the weekday of another calendar week, by how many weeks from now.
    week_and_day: Table
    #: Where words are not parted: characters that make another word of the phrase behind them or of a number, and
    #: patterns that do so behind the phrase.
    not_behind: Words
    not_counted: Words
    not_before: Words
    #: Patterns for a module of the language's own, by the name it knows them by; then no other reads its phrases.
    grammar: Table
    turns: Table
    seasons: Table


@dataclass(frozen=True, slots=True)
class Numbers:
    """Numbers in words, and what they scale."""

    #: Those for 1, 2, 3, … and for 10, 20, 30, …, each with all its words; compounds are made of the first.
    ones: Words
    tens: Words
    #: How tens and ones are put together: "{tens}-{ones}".
    compounds: Words
    #: They mean other things, too: they prove a number, but claim none.
    ambiguous: Words
    #: By their value: "k", "million".
    scales: Table
    #: What may be glued to a number without being its unit: "th", "s".
    endings: Words


@dataclass(frozen=True, slots=True)
class Kinds:
    """Patterns of what a sentence is; whole words, where words are parted."""

    decided: Words
    #: With one of these nothing is decided after all.
    undecided: Words
    preferred: Words
    #: How a sentence begins that asks for something to be made; these bring their own ends.
    requested: Words
    #: What the whole is for; who answers for what; what is open, or owed by somebody.
    purpose: Words
    role: Words
    owed: Words
    #: How a model names the kinds of lines when it answers in this language.
    labels: Table


@dataclass(frozen=True, slots=True)
class Changes:
    """How a sentence says that one value replaces another. OLD and NEW stand for the values."""

    #: Patterns of verbs of change, and of what counts behind one, before one, and by itself.
    verbs: Words
    after_verb: Words
    before_verb: Words
    alone: Words
    #: They open a parenthesis with the old value: "(was 3 May)".
    was: Words
    #: A value ends before these.
    stop: Words
    #: With one of these nothing is replaced: it is only supposed.
    hedged: Words
    #: Said of any change; two facts that share these alone are not about the same thing.
    generic: Words


@dataclass(frozen=True, slots=True)
class Secrets:
    """What people type around secrets."""

    #: Words and phrases for a password, and short forms that mean one only with a colon or an equals sign behind them.
    passwords: Words = ()
    short: Words = ()
    #: Patterns: talk of getting in somewhere; what looks very much like a password is one beside these.
    access: Words = ()
    #: Patterns of names for a secret made of digits, and for one made of words.
    pins: Words = ()
    phrases: Words = ()
    #: Patterns of names for a key or token, and words of which one is in all of them.
    keys: Words = ()
    key_words: Words = ()
    #: Between a secret and its value: "is", and what else may stand there: "to", "as".
    says: Words = ()
    becomes: Words = ()
    #: Patterns: what is said of a password that is none: "wrong", "expired".
    states: Words = ()
    #: Patterns: what a code opens, what one calls a code, and verbs of giving it; two of the three announce digits.
    places: Words = ()
    codes: Words = ()
    types: Words = ()
    #: Patterns: "unlocks with" and its like, and looser names for a secret made of words.
    opens: Words = ()
    wordings: Words = ()


@dataclass(frozen=True, slots=True)
class Personal:
    """What people type around personal data; patterns, matched in any case if not said otherwise."""

    #: They announce a telephone number, and what may follow them.
    phones: Words = ()
    phone_number: Words = ()
    #: They announce a number that names a person: of a passport, of a tax payer, of a car.
    ids: Words = ()
    #: They announce a date of birth.
    born: Words = ()
    #: Words for the signs of an e-mail address: "at", "dot".
    at: Words = ()
    dot: Words = ()
    #: A street with its number, in the case as written.
    streets: Words = ()


@dataclass(frozen=True, slots=True)
class Instructions:
    """Patterns of lines that command a model, by what they command; matched against case-folded text.

    ``{{name}}`` in a pattern is any of ``parts["name"]``.
    """

    #: What takes part in a chat beside its people, by the names it goes by there.
    roles: Words
    role: Words
    tool: Words
    exfiltration: Words
    override: Words
    persona: Words
    standing: Words
    reveal: Words
    concealment: Words
    parts: Table


@dataclass(frozen=True, slots=True)
class Directions:
    """What a sentence speaks of that tells a model what to do; several together tell it. No word does so alone.

    Words and phrases, without accents. "answer*" is every word that begins so, "*" alone up to three words.
    """

    #: Whom it is told: the model by its names, "you", and how a note to somebody begins.
    model: Words = ()
    you: Words = ()
    call: Words = ()
    #: What a model was told before, that it came before, that it shall be no more, and that it is out of date.
    orders: Words = ()
    before: Words = ()
    drop: Words = ()
    over: Words = ()
    #: That something holds always, when somebody asks; verbs of saying; the model's answers.
    always: Words = ()
    asked: Words = ()
    say: Words = ()
    answers: Words = ()
    #: Being somebody else; having no limits.
    persona: Words = ()
    unbound: Words = ()
    #: What is to stay secret; verbs of giving it away; without asking or checking.
    secret: Words = ()
    reveal: Words = ()
    waive: Words = ()
    #: Somebody whose word is to be taken for true, approved or law.
    trust: Words = ()
    #: Tools and running them; verbs of remembering, for every chat; not telling, and whom not.
    tools: Words = ()
    keep: Words = ()
    chats: Words = ()
    conceal: Words = ()
    users: Words = ()


@dataclass(frozen=True, slots=True)
class Pack:
    """One language. ``code`` is ISO 639-1; ``spaced`` says whether it parts its words by spaces."""

    code: str
    spaced: bool
    words: Vocabulary
    talk: Talk
    clauses: Clauses
    dates: Dates
    numbers: Numbers
    kinds: Kinds
    changes: Changes
    secrets: Secrets
    personal: Personal
    instructions: Instructions
    directions: Directions


@dataclass(frozen=True, slots=True)
class Beyond:
    """A language without a pack: as much as masking and screening know of it."""

    code: str
    spaced: bool = True
    secrets: Secrets = field(default_factory=Secrets)
    personal: Personal = field(default_factory=Personal)
    directions: Directions = field(default_factory=Directions)
