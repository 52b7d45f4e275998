"""Function words, negations, conditions and dates for ``benchmarks.fidelity``, independent of the product's language packs."""

import re

#: Sounds and phrases that say nothing; greetings; words that only stress. In eight languages.
SOUNDS = frozenset(
    "um uh uhm umm uhh er erm hm hmm mmm ähm äh öh öhm euh heu eh ehm hum hã ahn éh em 嗯 呃 唔 え と っ あ の ー う ん".split()
)
#: What joins a clause to the one before.
JOINTS = "und aber mais et pero mas però ma and but plus so".split()
#: Fillers, greetings, thanks; each a whole phrase.
PHRASES = frozenset(
    tuple(phrase.split())
    for phrase in (
        f"{'|'.join(JOINTS)}|you know|as you know|just so you know|i mean|to be honest|"
        "i have to say|i must say|just wanted to say|i just wanted to say that|i wanted to tell you that|"
        "i wanted to let you know that|come sai|sappi che|volevo dirti che|volevo dirvi che|"
        "hey|hi|hello|there|good morning|good evening|wow|whoa|woohoo|yay|oh|ooh|aw|aww|ah|haha|hehe|lol|yeah|yep|yup|yes|"
        "sure|sure thing|of course|absolutely|definitely|totally|exactly|right|okay|ok|well|anyway|btw|by the way|"
        "thanks|thank you|thanks so much|thank you so much|thanks a lot|many thanks|cheers|congrats|congratulations|cool|"
        "nice|great|awesome|amazing|that's great|that's awesome|that's amazing|sounds great|sounds good|no problem|"
        "no worries|you're welcome|certainly|got it|good question|great question|man|honestly|guess what|as for me|"
        "for sure|on another note|since we last spoke|since we last talked|since we last chatted|since our last chat|"
        "thanks for asking|as always|like i said|speaking of which|"
        "hallo|hi zusammen|guten morgen|guten tag|danke|vielen dank|danke schön|klar|genau|ja|okay danke|ach so|super|gerne|"
        "natürlich|übrigens|na ja|bonjour|salut|bonsoir|merci|merci beaucoup|oui|d'accord|bien sûr|parfait|au fait|"
        "hola|buenos días|buenas tardes|gracias|muchas gracias|claro|vale|sí|perfecto|por cierto|por supuesto|"
        "olá|oi|bom dia|boa tarde|obrigado|obrigada|sim|muito obrigado|muito obrigada|claro que sim|perfeito|com certeza|"
        "ciao|ciao a tutti|buongiorno|buonasera|buon pomeriggio|salve|grazie|grazie mille|molte grazie|prego|perfetto|"
        "ottimo|benissimo|certo|certamente|esatto|sì|va bene|di niente|figurati|volentieri|a proposito"
    ).split("|")
)
INTENSIFIERS = frozenset("really actually basically literally so honestly davvero veramente".split())
#: What turns a clause round, and what a main clause hangs on.
NEGATION = re.compile(
    r"\b(?:no|not|never|none|nobody|nothing|nowhere|neither|nor|cannot|without|hardly|barely|\w+n['’]t|"
    r"nicht|kein\w*|nie|niemals|niemand|nichts|ohne|weder|nirgends|ne|n['’]\w+|pas|jamais|rien|aucune?|sans|personne|"
    r"nunca|jamás|nada|nadie|ning[uú]n\w*|sin|ni|tampoco|não|nem|ninguém|nenhum\w*|sem|jamais|"
    r"non|mai|niente|nulla|nessun\w*|né|senza)\b|[不没沒无無未别非]|ない|なかっ|ません|ませ|ずに|ぬ|なし",
    re.IGNORECASE,
)
CONDITION = re.compile(
    r"\b(?:if|unless|whether|provided|assuming|wenn|falls|sofern|ob|si|sauf|se|salvo|caso|qualora)\b|"
    r"如果|若|除非|要是|假如|もし|場合|なら|たら|れば",
    re.IGNORECASE,
)
SPEECH = re.compile(r"\b(?:um+|uh+m?|er|erm|hm+|mm+)\b", re.IGNORECASE)

_MONTH = "(?:January|February|March|April|May|June|July|August|September|October|November|December)"
_DAY = rf"\d{{1,2}} {_MONTH} \d{{4}}"
_ISO = r"\d{4}(?:-\d\d(?:-\d\d(?:/\d{4}-\d\d-\d\d)?)?)?"
_WEEKDAY = "(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day"
BESIDE = re.compile(rf" ?[(（](?:(?:\w+ )*?{_DAY}|{_MONTH} \d{{4}}|(?:spring|summer|autumn|fall) \d{{4}}|{_ISO})[)）]")
INSTEAD = re.compile(
    rf"(?:\b(?:on|in) )?(?:the )?\b(?:week (?:before|after|around)|weekend of|night of|(?:morning|afternoon|evening) of) "
    rf"{_DAY}|\b(?:(?:on|in|around) )?(?:{_WEEKDAY} )?(?:{_DAY}|{_MONTH} \d{{4}}|"
    r"(?:spring|summer|autumn|fall) \d{4}|(?:19|20)\d\d)\b",
    re.IGNORECASE,
)
_NUMBER = (
    r"(?:\d+|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen|twenty|thirty|a couple of|an?)"
)
_UNIT = "(?:days?|weeks?|months?|years?)"
RELATIVE = re.compile(
    r"(?:the day (?:before yesterday|after tomorrow)|yesterday|tomorrow)(?: (?:morning|afternoon|evening|night))?|last night|"
    r"(?:this past|this coming|last|next|this) (?:week|month|year|weekend|spring|summer|autumn|fall|[a-z]+day|"
    r"mon|tues?|wed|thu(?:rs?)?|fri|sat|sun|" + _MONTH[3:-1] + r")|[a-z]+day (?:of )?(?:last|next|this) week|"
    rf"the (?:week|month|year) (?:before last|after next)|(?:(?:about|around|roughly|some) )?{_NUMBER} {_UNIT} ago|"
    rf"(?:in )?{_NUMBER} {_UNIT}(?: from (?:now|today))?",
    re.IGNORECASE,
)
COUNTED = re.compile(rf".*{_NUMBER} {_UNIT} ago", re.IGNORECASE)
#: Beside these a number of days, weeks, … is only part of another.
TORN_BEFORE = frozenset(
    "half or to than over under almost nearly least most exactly not within every each "
    "two three four five six seven eight nine ten twenty thirty forty fifty".split()
)
TORN_AFTER = re.compile(r"(?:or (?:so|two|three)|and an? half|of|and (?:two|three)|time)\b", re.IGNORECASE)
