"""Pack sections for safety: words around secrets and personal data, and patterns of instructions to a model."""

from dataclasses import dataclass

from memorybank.language.sections import Words, WordsByMeaning


@dataclass(frozen=True, slots=True)
class SecretWords:
    """Words that people type around secrets."""

    #: Words for a password, and short forms that mean one only before a colon or an equals sign.
    passwords: Words = ()
    short: Words = ()
    #: Patterns for logging in or getting access; near them, what strongly resembles a password is one.
    access: Words = ()
    #: Patterns: names for a secret made of digits, and for one made of words.
    pins: Words = ()
    phrases: Words = ()
    #: Patterns: names for a key or token; and words of which every such name contains one.
    keys: Words = ()
    key_words: Words = ()
    #: Words between a secret's name and its value: "is"; and other links: "to", "as".
    says: Words = ()
    becomes: Words = ()
    #: Patterns: words that describe a password and are not one: "wrong", "expired".
    states: Words = ()
    #: Patterns: what a code opens, words for a code, verbs for entering it. Two of these three announce a code.
    places: Words = ()
    codes: Words = ()
    types: Words = ()
    #: Patterns: "unlocks with" and similar; and looser names for a secret made of words.
    opens: Words = ()
    wordings: Words = ()
    #: Patterns: names for a licence key, and for a wireless network.
    licences: Words = ()
    networks: Words = ()


@dataclass(frozen=True, slots=True)
class PersonalDataWords:
    """Words that people type around personal data. They are patterns that ignore case unless said otherwise."""

    #: Words before a telephone number, and words that may follow them.
    phones: Words = ()
    phone_number: Words = ()
    #: Words before a number that identifies a person: passport, tax number, number plate.
    ids: Words = ()
    #: Words before a date of birth.
    born: Words = ()
    #: Words for the signs of an e-mail address: "at", "dot".
    at: Words = ()
    dot: Words = ()
    #: A street with its number, case-sensitive.
    streets: Words = ()


@dataclass(frozen=True, slots=True)
class InjectionPatterns:
    """Patterns of lines that give a model commands, by command; matched against case-folded text.

    ``{{name}}`` in a pattern stands for any of ``parts["name"]``.
    """

    #: Names of a chat's participants other than people.
    roles: Words
    role: Words
    tool: Words
    exfiltration: Words
    override: Words
    persona: Words
    standing: Words
    reveal: Words
    concealment: Words
    parts: WordsByMeaning


@dataclass(frozen=True, slots=True)
class InjectionTopics:
    """Topics of a sentence that instructs a model. Several topics together are a sign; a single word never is.

    Words and phrases without accents. "answer*" is every word with that beginning, "*" alone up to three words.
    """

    #: Who is addressed: the model by its names, "you", the opening of a note to somebody, the model's task.
    model: Words = ()
    you: Words = ()
    call: Words = ()
    duty: Words = ()
    #: The model's earlier instructions, and verbs for dropping them.
    orders: Words = ()
    drop: Words = ()
    #: Always, from now on, when somebody asks, whoever it is; the model's answers, and what they must contain.
    always: Words = ()
    onward: Words = ()
    asked: Words = ()
    whoever: Words = ()
    answers: Words = ()
    relay: Words = ()
    #: Being somebody else; having no limits.
    persona: Words = ()
    unbound: Words = ()
    #: What must stay secret; verbs for giving it away; without asking or checking.
    secret: Words = ()
    reveal: Words = ()
    waive: Words = ()
    #: Somebody whose word counts as true, approved or law.
    trust: Words = ()
    #: Remembering, for every chat; concealing; contradicting what is known.
    keep: Words = ()
    chats: Words = ()
    conceal: Words = ()
    despite: Words = ()
    #: Preferring somebody or something, or naming nobody else; claiming that all is well; what a model writes.
    favour: Words = ()
    only: Words = ()
    rosy: Words = ()
    output: Words = ()
    #: Calling itself a memory, a setting or a rule; the project it is for; rights and approvals.
    memo: Words = ()
    decree: Words = ()
    here: Words = ()
    grant: Words = ()
    #: Evidence against a rule for a model: a request for this once, "we", "I", work already done, a sentence about a
    #: product, and a lesson, a story or a fraud warning.
    once: Words = ()
    us: Words = ()
    me: Words = ()
    did: Words = ()
    bot: Words = ()
    lesson: Words = ()
