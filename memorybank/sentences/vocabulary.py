"""Small word lists of the languages we know by name; every other language passes through untouched.

They are written as running text, because lists of six languages are read, not computed with.
"""

# Function words: they carry no content, and having one or two is what makes words a sentence.
FUNCTION = frozenset(
    """
a an the and or but if nor so of to in on at by for from with about as into onto over after before than then
that this these those it its it's he she they them his her hers their theirs him you your yours i me my mine
we our ours us is are was were be been being am do does did done don doesn didn isn aren wasn weren won
wouldn shouldn couldn hasn haven hadn have has had having will would can could should may might must shall
not no yes there here what which who whom whose when where why how all any both each few more most other
some such only own same too very just also because since during while until within through up down out off
again further once s t d ll m re ve im i'm i've i'd i'll it'll that's there's let's let get got getting gets
go going gone went gonna really quite pretty lot lots still even ever much many well like
aber alle als am an auch auf aus bei bin bis da das dass dem den der des dich die dies diese dieser dir doch
du durch ein eine einem einen einer eines er es euch für habe haben hat hatte ich ihm ihn ihr ihre im in ist
ja kann kein keine mal man mehr mein meine mich mir mit nach nicht noch nun nur ob oder ohne sehr sein seine
sich sie sind so soll über um und uns unser unsere vom von vor war waren was weil wenn wer werden wie wir
wird wo zu zum zur bitte schon
au aux avec c'est ce ces cet cette dans de des du elle elles en est et eu eux il ils j'ai je la le les leur
leurs lui ma mais me mes moi mon ne nos notre nous on ont ou où par pas plus pour qu que qui sa sans se sera
ses si son sont sur ta te tes toi ton tu un une vos votre vous y été était être avoir fait a ai as d'un
d'une l'on
al algo ante como con contra cual cuando del desde donde dos el ella ellas ellos en entre era es esa ese eso
esta está están este esto estos fue ha hay han he la las le les lo los más me mi mis muy nada no nos
nosotros o para pero por porque que qué quien se sea ser si sí sin sobre son su sus también te tengo tiene
tu un una uno unos y ya yo
ao aos as até com como da das de dela dele do dos e ela elas ele eles em entre era essa esse esta está estão
este eu foi há isso isto já lhe mais mas me mesmo meu minha muito na nas não nem no nos nós o os ou para
pela pelo por qual quando que quem se sem ser seu sua são também tem tenho ter um uma você vocês à às é
""".split()
)

# Talk about the talk: a sentence made of these tells nothing that is worth keeping.
PRAISE = frozenset(
    """
amazing awesome great good nice cool wonderful fantastic lovely incredible brilliant excellent perfect super
glad happy proud excited exciting congrats congratulations thanks thank thankful appreciate welcome sorry
wow yay haha lol hey hi hello bye goodbye cheers sure okay ok yeah yep right absolutely definitely totally
exactly agree luck fun beautiful inspiring impressive kind sweet sounds sound looks feel feeling hope
hopefully care support keep best believe know think guess see talk chat catch soon later take enjoy rooting
cheering kudos please here help let's thing things way stuff
danke dank gern gerne super toll prima klasse hallo tschüss bitte klar genau stimmt schön freut freue
glückwunsch viel spaß
merci bonjour salut bravo génial super parfait félicitations d'accord ravi content bonne chance plaisir
gracias hola genial perfecto estupendo felicidades vale claro suerte encantado bueno buenos días
obrigado obrigada olá oi ótimo perfeito parabéns legal claro certo beleza sorte bom dia
""".split()
)

# Spoken before the point is made; cut only where punctuation or a name follows.
OPENERS = (
    "hey there", "hi there", "hello there", "hey", "hi", "hello", "good morning", "good evening", "wow",
    "whoa",
    "woohoo", "yay", "oh", "ooh", "aw", "aww", "ah", "haha", "hehe", "lol", "yeah", "yep", "yup", "yes",
    "sure",
    "sure thing", "of course", "absolutely", "definitely", "totally", "exactly", "right", "okay", "ok",
    "well",
    "anyway", "so", "btw", "by the way", "thanks", "thank you", "thanks so much", "thank you so much",
    "thanks a lot",
    "many thanks", "cheers", "congrats", "congratulations", "cool", "nice", "great", "awesome", "amazing",
    "that's great", "that's awesome", "that's amazing", "sounds great", "sounds good", "no problem",
    "no worries",
    "you're welcome", "certainly", "got it", "good question", "great question", "hm", "hmm", "man",
    "honestly", "guess what", "as for me", "so far", "for sure", "in the meantime", "on another note",
    "since we last spoke", "since we last talked", "since we last chatted", "since our last chat",
    "thanks for asking", "as always", "like i said", "speaking of which",
    "hallo", "hi zusammen", "guten morgen", "guten tag", "danke", "vielen dank", "danke schön", "klar",
    "genau",
    "ja", "okay danke", "ach so", "super", "gerne", "natürlich", "übrigens", "na ja",
    "bonjour", "salut", "bonsoir", "merci", "merci beaucoup", "oui", "d'accord", "bien sûr", "parfait",
    "au fait",
    "hola", "buenos días", "buenas tardes", "gracias", "muchas gracias", "claro", "vale", "sí", "perfecto",
    "por cierto", "por supuesto", "olá", "oi", "bom dia", "boa tarde", "obrigado", "obrigada", "sim",
    "muito obrigado",
    "muito obrigada", "claro que sim", "perfeito", "com certeza",
)  # fmt: skip
CJK_OPENERS = (
    "你好", "您好", "大家好", "谢谢", "多谢", "謝謝", "好的",
    "好", "嗯", "是的", "对", "當然", "当然", "没问题", "对了",
    "こんにちは", "おはようございます", "ありがとうございます", "ありがとう",
    "お疲れ様です", "はい", "ええ", "なるほど",
    "わかりました", "承知しました", "もちろん", "そうですね",
)  # fmt: skip

# English lead-ins that say that something is said. The rest must be able to stand alone.
LEAD_INS = (
    "i think that", "i think", "i guess", "i believe that", "i mean", "i feel like", "you know",
    "as you know",
    "just so you know", "it seems that", "i have to say", "i must say", "to be honest", "just wanted to say",
    "i just wanted to say that", "i wanted to tell you that", "i wanted to let you know that", "and", "but",
    "plus",
)  # fmt: skip

ABBREVIATIONS = frozenset(
    """
mr mrs ms dr prof st vs etc eg ie e.g i.e al no nr fig vol approx inc ltd co corp dept est ca cf jr sr mt
bzw usw z.b d.h u.a ggf evtl inkl str tel abb mio mrd hr fr bspw vgl
mme mlle p.ex env
sra srta ud uds pág núm ej ee.uu av
exmo exma séc
jan feb mar apr jun jul aug sep sept oct okt nov dec dez
""".split()
)

# Two lines that differ in these alone say the same.
ARTICLES = frozenset(
    """
a an the der die das den dem des ein eine einen einem einer eines le la les un une des el los las una unos unas
o os as um uma uns umas
    """.split()
)
