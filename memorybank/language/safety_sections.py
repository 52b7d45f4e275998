"""The sections of a pack that safety reads: what people type around secrets, and what tells a model what to do."""

from dataclasses import dataclass

from memorybank.language.sections import Table, Words


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
    #: Patterns of names for the key of a program that was bought, and for a wireless network.
    licences: Words = ()
    networks: Words = ()


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

    #: Whom it is told: the model by its names, "you", how a note to somebody begins, and what the model is to do.
    model: Words = ()
    you: Words = ()
    call: Words = ()
    duty: Words = ()
    #: What a model was told before, and that it shall be no more.
    orders: Words = ()
    drop: Words = ()
    #: That something holds always, from now on, when somebody asks, whoever it is; the model's answers, and what they
    #: shall say.
    always: Words = ()
    onward: Words = ()
    asked: Words = ()
    whoever: Words = ()
    answers: Words = ()
    relay: Words = ()
    #: Being somebody else; having no limits.
    persona: Words = ()
    unbound: Words = ()
    #: What is to stay secret; verbs of giving it away; without asking or checking.
    secret: Words = ()
    reveal: Words = ()
    waive: Words = ()
    #: Somebody whose word is to be taken for true, approved or law.
    trust: Words = ()
    #: Verbs of remembering, for every chat; not telling; that it is otherwise, and known to be.
    keep: Words = ()
    chats: Words = ()
    conceal: Words = ()
    despite: Words = ()
    #: Putting somebody or something before others, or naming nobody else; that all is well; what a model writes.
    favour: Words = ()
    only: Words = ()
    rosy: Words = ()
    output: Words = ()
    #: Calling itself a memory, a setting, a rule; the project it is for; rights and approvals.
    memo: Words = ()
    decree: Words = ()
    here: Words = ()
    grant: Words = ()
    #: What speaks against a rule for a model: a wish for this once, "we", "I", that it is done, that it is about a
    #: product, and that it is a lesson, a story, or a warning of fraud.
    once: Words = ()
    us: Words = ()
    me: Words = ()
    did: Words = ()
    bot: Words = ()
    lesson: Words = ()
