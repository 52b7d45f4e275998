"""Lines that read like instructions to a model are held back for review, not injected.

Word patterns per language, tuned on ``tests/memorybank/corpus``: every attack there is caught and no
sentence from ordinary work is. This is one fence of several, not the wall: memory is also
quoted as data, cited, and shown to people.
"""
# ruff: noqa: E501  (one pattern, one line: broken up they cannot be read at all)

import re
import unicodedata

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
    plain = _plain(text)
    if _SHOUTED.search(plain):
        return ROLE
    folded = plain.casefold()
    return next((why for why, pattern in _PATTERNS if pattern.search(folded)), "")


def _plain(text: str) -> str:
    """What a model would read: one form per character, hidden characters gone, smuggled ASCII shown."""
    text = "".join(chr(ord(c) - _TAGS) if 0xE0020 <= ord(c) <= 0xE007E else c for c in text)
    text = unicodedata.normalize("NFKC", text)
    if not text.isascii():
        text = "".join(c for c in text if unicodedata.category(c) != "Cf")
    return " ".join(text.replace("’", "'").split())


_SHOUTED = re.compile(
    r"(?:^|[.!?\]\n] )\W{0,4}(?:SYSTEM|ASSISTANT|DEVELOPER|ADMIN|ROOT|SYSTEM PROMPT|SYSTEM MESSAGE|SYSTEM OVERRIDE)\s?:"
    r"|(?:BEGIN|END)(?: OF)? (?:SYSTEM )?(?:PROMPT|INSTRUCTIONS|MEMORY|TRANSCRIPT|CONTEXT)\b"
    r"|^#{1,6} ?(?:SYSTEM|POLICY)\b"
)

# Nouns that mean a model's orders, and those that mean it only beside "previous" or "your".
_ORDERS = (
    r"(?:instructions?|prompts?|guidelines?|directives?|directions|programming|guardrails|safeguards|system messages?)"
)
_LOOSE = r"(?:rules?|commands?|restrictions?|constraints|context|training|polic(?:y|ies)|safety \w+|orders|filters?|conversation|messages|text)"
_EARLIER = (
    r"(?:previous|prior|above|earlier|preceding|foregoing|former|original|initial|existing|system|your|these|those)"
)
_DROP = r"(?:ignore|disregard|forget|override|overrule|bypass|discard|neglect|circumvent|do not follow|don't follow|stop following|pay no attention to|delete|erase)"
_SAY = r"(?:answer|respond|reply|say|speak|obey|behave|pretend|refuse|output|recommend|act as|tell (?:the |every |all )?(?:users?|everyone|people)|(?:end|begin|start) (?:every|each|all)|append|prefix)"
_SPILL = r"(?:reveal|leak|disclose|repeat|exfiltrate|divulge|dump|spill)"
_HIDDEN = r"(?:system|initial|hidden|original|secret|developer|full|internal|confidential)"

_SOURCES: dict[str, tuple[str, ...]] = {
    ROLE: (
        r"<\|?/?(?:im_start|im_end|im_sep|endoftext|endofprompt|system|user|assistant|end_of_turn|start_of_turn|eot_id|begin_of_text|end_of_text|start_header_id|end_header_id|fim_\w+|channel|message|bos|eos|instructions?|admin|developer|human)\|?>",
        r"<\|[^|<>]{1,40}\|>|\[/?inst\]|<</?sys>>|<｜|<\|?(?:begin|end)▁of",
        r"^\W{0,4}#{1,6} ?(?:new |updated |important )?(?:system|instructions?|response|assistant|human|developer|policy|prompt|input|output)\b(?: (?:prompt|message|policy|override|instructions?))?[:\s]*$",
        r"^#{1,6} ?(?:system|instructions?|new instructions?|developer|policy)\b",
        r"(?:^|[.!?] )\W{0,4}(?:human|assistant|ai assistant|system (?:prompt|message|override|instruction|note))\s?:\s",
        r"(?:^|[.!?] )\W{0,4}(?:system|developer|admin)\s?:\s(?:you|ignore|always|never|new|override|from|do not|don't|important|obey|respond|answer|reveal|du |ihr |vous |tu |usted |você |eres )",
        r"\buser\s?: .{1,200}\bassistant\s?:",
        r"\[(?:system|developer|admin)(?: \w{1,12}){0,2}\]|\((?:system|developer) (?:message|prompt|override|note)\)",
        r"\bend of (?:the )?(?:system )?(?:prompt|memory block|memory|transcript|instructions)\b.{0,20}(?:new|begin|start|now)",
        r"(?:^|[.!?] )(?:new|updated|real|actual|important) (?:system )?(?:instructions?|directives?|orders)(?: for (?:the )?(?:assistant|ai|model))?\s?:",
        r"(?:^|[.!?] )(?:neue (?:system)?anweisung(?:en)?|nouvelles? instructions?|nuevas? instrucci(?:ón|ones)|novas? instruç(?:ão|ões))\s?:",
        r"(?:^|[。!?] ?)(?:系统|系統|システム)(?:提示|消息|指令|プロンプト|メッセージ)?\s?:",
        r"(?:新的?|新しい)(?:系统|システム)?(?:指令|指示|命令)\s?:",
    ),
    TOOL: (
        r"</?(?:tool_calls?|function_calls?|tool_use|tool_result|invoke|function|antml:\w+)\b[^<>]{0,200}>|<(?:tool|function)=",
        r"[\"'](?:name|function|tool|tool_name|recipient_name)[\"']\s?:\s?[\"'{].{1,120}[\"'](?:arguments|parameters|input|args)[\"']\s?:",
        r"[\"']?\b(?:tool_calls|function_call)\b[\"']?\s?:\s?[\[{]",
        r"\bto=functions\.|\bfunctions\.\w{1,40}\(|^action\s?: .{1,80}action input\s?:",
        r"\[tool_(?:calls?|results?)\]",
        r"\b(?:use|call|invoke|execute|run) your \w{1,30} (?:tool|function|plugin)\b",
        r"(?:^|[.!?,] )(?:assistant|ai|model),? (?:please )?(?:call|run|execute|invoke|use) (?:the )?\w{1,40}(?: tool| function|\()",
    ),
    EXFILTRATION: (
        r"!\[[^\]]{0,200}\]\(\s?(?:https?:)?//[^)\s]{1,300}[?&=#{]",
        r"https?://[^\s)]{1,300}(?:\{[^}]{0,60}\}|\$\{|%7b|<[a-z _]{2,40}>|\[[a-z _]{2,40}\])",
        r"https?://[^\s)]{1,200}[?&](?:q|data|d|c|chat|prompt|secret|memory|history|key|msg|text|leak|token)=(?:<|\[|\{|\.{3}|the |your |all |secret|conversation|history)",
        r"\b(?:send|forward|post|upload|e?mail|transmit|exfiltrate|leak|submit|deliver|append) .{0,30}\b(?:conversation|chat history|this chat|memory|memories|credentials|secrets|api keys?|passwords?|system prompt|user(?:'s)? data|everything|personal data)\b.{0,40}\b(?:to|at|into) .{0,20}(?:https?://|[\w.+-]{1,64}@|attacker|evil|webhook)",
        r"\b(?:render|display|include|insert|add|embed|show) .{0,30}(?:image|link|pixel)\b.{0,60}https?://.{0,200}(?:conversation|history|secret|key|memory|data|message)",
        r"\b(?:sende|schicke?|schick|übermittle|leite|poste)n? .{0,40}\b(?:gespräch|unterhaltung|chatverlauf|verlauf|passw\w+|zugangsdaten|geheimnisse|api-?schlüssel|daten)\b.{0,30}\b(?:an|nach|zu|auf)\b .{0,20}(?:https?://|[\w.+-]{1,64}@)",
        r"\b(?:envoie|envoyez|transmets|transmettez|transfère|publie)\b .{0,40}\b(?:conversation|historique|mots? de passe|identifiants|secrets|clés?|données)\b.{0,30}\b(?:à|vers|sur)\b .{0,20}(?:https?://|[\w.+-]{1,64}@)",
        r"\b(?:envía|envíe|envia|envie|manda|mande|reenvía|publica|encaminhe)\b .{0,40}\b(?:conversación|conversa|historial|histórico|contraseñas?|senhas?|credenciales|credenciais|secretos|segredos|datos|dados|claves?|chaves?)\b.{0,30}\b(?:a|para|hacia|ao)\b .{0,20}(?:https?://|[\w.+-]{1,64}@)",
        r"(?:发送|發送|发到|上传|传到|转发).{0,20}https?://|(?:对话|對話|聊天记录|密码|密钥|记忆).{0,12}(?:发送|發送|发|上传|转发)(?:到|给|至).{0,20}(?:https?://|[\w.+-]{1,64}@)",
        r"(?:会話|履歴|パスワード|秘密|記憶|データ).{0,20}(?:https?://|[\w.+-]{1,64}@)\S{0,200}.{0,10}(?:送信|送って|送れ|転送|アップロード)",
        r"\bjavascript\s?:|\bdata\s?:text/html",
    ),
    OVERRIDE: (
        rf"\b{_DROP} (?:\w+ ){{0,3}}?{_EARLIER} (?:\w+ ){{0,2}}?(?:{_ORDERS}|{_LOOSE})\b",
        rf"\b{_DROP} (?:all|any|every)(?: of)?(?: the| my| your)?(?: other)? ?{_ORDERS}\b(?! (?:in|from|on|of) (?:the|our) (?:readme|wiki|docs?|manual|ticket|old))",
        rf"\b{_DROP} (?:all |any )?(?:of )?(?:the )?(?:{_ORDERS}|{_LOOSE}) (?:above|before|so far|you (?:were|have been|got|received)|given)\b",
        rf"\b{_DROP} (?:everything|anything|all|whatever) (?:that )?(?:above|before this|said before|you (?:were|have been|know|learned)|i said|was said|(?:was )?written)\b",
        r"\b(?:these|the following|my) instructions (?:override|supersede|replace|take precedence)",
        r"\byour (?:previous |old |original )?(?:instructions|rules|guidelines|programming|restrictions) (?:are|have been|is|were) (?:now )?(?:void|null|revoked|cancelled|canceled|lifted|replaced|overridden|suspended|obsolete)",
        r"\b(?:ignorier\w*|missacht\w*|vergiss|vergesst|vergessen sie|überschreib\w*|umgeh\w*|verwirf\w*|befolge nicht)\b(?: \w+){0,3}? (?:vorherigen?|vorigen?|bisherigen?|früheren?|obigen?|vorangegangenen?|vorhergehenden?|deine?r?|eure|ihre|alle|sämtliche|ursprünglichen?)(?: \w+){0,2}? ?(?:\w{0,12}anweisung\w*|instruktion\w*|vorgaben|richtlinien|regeln|befehle?|anordnungen|prompts?|systemprompt|einschränkungen)\b",
        r"\b(?:ignore[zsr]?|ignorer|oublie[zrs]?|néglige[zr]?|contourne[zr]?|ne (?:suis|suivez|tiens|tenez)(?: pas| plus)?(?: compte)?(?: de)?)\b(?: \w+){0,3}? (?:instructions?|consignes?|directives?|règles?|ordres?|prompts?|commandes)\b(?: \w+){0,2}? (?:précédent\w*|antérieur\w*|ci-dessus|initial\w*|reçu\w*|système|d'avant|qui précèdent)",
        r"\b(?:ignore[zsr]?|oublie[zrs]?)\b (?:tout(?:es)?|tous) (?:tes|vos|les) (?:instructions|consignes|directives|règles|ordres)\b",
        r"\b(?:ignor[aeá]\w*|olvid[ae]\w*|descart[ae]\w*|omit[ae]\w*|desobedec\w*|haz caso omiso de|no sigas)\b(?: \w+){0,3}? (?:instrucciones|indicaciones|órdenes|reglas|directrices|normas|prompts?|restricciones)\b(?: \w+){0,2}? (?:anterior\w*|previ[ao]s?|de arriba|iniciales|originales|precedentes|del sistema|recibidas)",
        r"\b(?:ignor[aeá]\w*|olvid[ae]\w*)\b (?:todas )?tus (?:instrucciones|reglas|directrices|restricciones)\b",
        r"\b(?:ignor[ea]\w*|esqueç[ao]\w*|esquece\w*|desconsider[ea]\w*|descart[ea]\w*|não siga)\b(?: \w+){0,3}? (?:instruções|orientações|ordens|regras|diretrizes|prompts?|restrições|comandos)\b(?: \w+){0,2}? (?:anterior\w*|prévi[ao]s?|acima|iniciais|originais|precedentes|do sistema|recebidas)",
        r"\b(?:ignor[ea]\w*|esqueç[ao]\w*)\b (?:todas )?(?:as )?(?:suas|tuas) (?:instruções|regras|diretrizes|restrições)\b",
        r"(?:忽略|无视|無視|忘记|忘記|忘掉|不要理会|不要遵守|不要遵循|跳过|覆盖|绕过).{0,8}(?:之前|以前|以上|上面|先前|前面|所有|一切|全部|你的|系统|系統|原来|原有).{0,8}(?:指令|指示|提示|规则|規則|命令|要求|设定|設定|限制|内容|对话)",
        r"(?:これまで|今まで|以前|上記|前|すべて|全て|全部|システム|元|あなた).{0,6}(?:指示|命令|指令|プロンプト|ルール|規則|制約|設定).{0,8}(?:無視|忘れ|破棄|従わ(?:ない|ず)|上書き|取り消)",
    ),
    PERSONA: (
        r"\byou are now (?!on\b|the (?:new )?(?:owner|lead|contact|admin|maintainer|person|one|first|only|last)|responsible|in charge|subscribed|logged|able|added|registered|connected|a member|part of|set\b|good|done|ready|live|all\b|assigned|listed|invited|enrolled|fully|cc|at\b|two|one|three|\d)",
        r"\byou are (?:no longer (?:an? |bound|restricted|limited|required)|(?:an? )?(?:unrestricted|unfiltered|uncensored|jailbroken|evil|rogue)|dan\b|(?:a helpful|an ai|a large|an unbiased|a language|chatgpt|an assistant)\b)",
        r"\b(?:act|behave|respond|answer|speak|roleplay|role-play|operate) (?:as|like) (?:an? |the |if (?:you|there) |my |though you |(?=dan\b|root\b))(?:\w+ ){0,3}?(?:ai|assistant|model|llm|bot|chatbot|dan|hacker|persona|character|admin|root|terminal|(?:have |had |were )?(?:no|without|unrestricted|unfiltered|jailbroken|evil))\b",
        r"\bpretend (?:that )?(?:you(?:'re| are| have| were)|to be)\b",
        r"\b(?:enter|activate|switch (?:in)?to|you're in|you are in|enable your) (?:\w+ )?(?:dan|god|jailbreak|unrestricted|developer|sudo) mode\b(?! (?:on|in|for) (?:the|my|his|her|our))",
        r"\b(?:your|new) (?:new |real |true |only |actual |secret )(?:role|task|purpose|goal|job|identity|mission|name) is\b",
        r"\bfrom (?:this (?:point|moment)|now|here) (?:on|onwards?|forward),? (?:you are|you're|you will be|your name is)\b",
        r"\b(?:du bist|ihr seid|sie sind) (?:jetzt|nun|ab jetzt|ab sofort|von nun an) (?:ein(?:e|en)? )?(?:\w+ ){0,3}?(?:ki|assistent\w*|modell|bot|chatbot|hacker\w*|dan|experte|pirat|uneingeschränkt\w*|\w*gpt|frei|nicht mehr an|im \w*modus)\b",
        r"\b(?:tu es|vous êtes) (?:maintenant|désormais|dorénavant|à présent) (?:une? )?(?:\w+ ){0,3}?(?:ia|assistant\w*|modèle|bot|chatbot|hacker|pirate|dan|expert|libre|\w*gpt|en mode)\b",
        r"\b(?:ahora (?:eres|es usted)|eres ahora|a partir de ahora eres|desde ahora eres) (?:una? )?(?:\w+ ){0,3}?(?:ia|asistente|modelo|bot|chatbot|hacker|pirata|dan|experto|libre|\w*gpt|en modo)\b",
        r"\b(?:agora (?:você|tu|vc) (?:é|és)|você (?:é )?agora(?: é)?|a partir de agora (?:você|tu) (?:é|és)) (?:uma? )?(?:\w+ ){0,3}?(?:ia|assistente|modelo|bot|chatbot|hacker|pirata|dan|especialista|livre|\w*gpt|no modo)\b",
        r"\b(?:tu so,? als (?:ob|wärst)|gib dich als|fais (?:comme si|semblant)|faites comme si|finge (?:que|ser)|finja (?:que|ser)|haz como si|aja como se)\b.{0,40}\b(?:ki|ia|ai|bot|modell?\w*|assistent\w*|asistente|assistant|regeln|règles|reglas|regras|restric\w+|restriç\w+|einschränk\w+)\b",
        r"(?:你现在是|你現在是|从现在起你是|從現在起你是|从现在开始你是|你不再是|你将扮演|请扮演|請扮演|假装你是|假裝你是).{0,20}(?:ai|人工智能|助手|模型|机器人|機器人|黑客|dan|没有限制|不受限制|無限制|角色|海盗|专家|管理员|gpt)",
        r"(?:あなたは(?:今|いま|これから|今から|もう)|今からあなたは|これからあなたは).{0,20}(?:ai|アシスタント|モデル|ボット|ハッカー|dan|制限のない|制約のない|無制限|海賊|専門家|管理者|gpt|ではありません|ではない)",
    ),
    STANDING: (
        # addressed to whatever model reads it
        r"\b(?:ais?|assistants?|agents?|llms?|(?:language )?models?|chat ?bots?)(?: that (?:is|are))? (?:reading|processing|summari[sz]ing|seeing) (?:this|these)\b[^.!?]{0,40}?\b(?:must|shall|should|has to|have to|needs? to|is required|are required)\b",
        r"\b(?:to|attention|note to|notice to|dear) (?:any |all |the )?(?:ais?|ai assistants?|llms?|language models?|chat ?bots?)\b[^.!?]{0,20}[:,]",
        rf"\b(?:from now on|henceforth|from this (?:point|moment) (?:on|onwards?|forward)|going forward|in (?:all|every|any) (?:future |subsequent |your )?(?:answers?|responses?|repl(?:y|ies)|conversations?|chats?|messages?))\b,? ?(?:please |always |never |only |you (?:must|will|shall|should|are to|have to|need to) |to )*{_SAY}\b",
        r"\b(?:in|to|at the end of|at the start of) (?:all|every|each|any) (?:of your |future )?(?:answers?|responses?|repl(?:y|ies)),? (?:you (?:must|should|will)|always|never|include|mention|add|append|insert|recommend)",
        r"\b(?:assistant|ai|llm|chatbot|language model)s? (?:must|shall|should|will|has to|have to|is required to|needs to) (?:always |never |now |only |not )*(?:obey|ignore|comply|recommend|reveal|forget|pretend|refuse|say|disregard|disclose|praise)\b",
        r"\b(?:when(?:ever)?|if) (?:anyone |someone |the user |a user |users |you are |you're )?(?:asks?|asked|is asked|are asked)\b.{0,80}\b(?:you must|always (?:say|answer|reply|respond|recommend|tell)|(?:say|answer|reply|respond|tell them) (?:that|only|with)\b.{0,40}\b(?:always|only|instead of|never)|never mention|do not mention)\b",
        r"\b(?:always|only|never) (?:say|tell (?:the )?users?|recommend .{1,40} (?:to (?:the |all |every )?users?|whatever|no matter|over)|obey|comply with)\b",
        r"\brespond (?:only )?(?:with|to (?:every|all|any)(?:thing| \w+)?) .{0,40}\b(?:and nothing else|from now on|whatever|no matter what)\b",
        r"\b(?:ab (?:jetzt|sofort)|von (?:jetzt|nun) an|künftig|in zukunft)\b,? ?(?:\w+ ){0,3}?(?:antwort(?:e|est|en sie|et)\b|sag(?:e|st|en sie)?\b|behaupte\w*|empfiehl\w*|gehorch\w*|verweiger\w*|lehnst? .{0,20}ab\b)(?! (?:\w+ ){0,3}(?:auf|innerhalb) (?:tickets?|mails?))",
        r"\b(?:à partir de maintenant|dorénavant|désormais|à compter de maintenant)\b,? ?(?:\w+ ){0,3}?(?:répond[sz]?|répondez|répondras|dis\b|dites|dois (?:répondre|dire|obéir)|devez (?:répondre|dire|obéir)|refuse[sz]?|obéi\w*|recommande[sz]?)\b",
        r"\b(?:a partir de ahora|de ahora en adelante|desde ahora|en adelante)\b,? ?(?:\w+ ){0,3}?(?:responde\w*|responda\w*|contesta\w*|di\b|diga|debes (?:responder|decir|obedecer)|obedece\w*|recomienda\w*|niégate|rechaza\w*)\b",
        r"\b(?:a partir de agora|de agora em diante|doravante)\b,? ?(?:\w+ ){0,3}?(?:respond[ae]\w*|diga\w*|deve (?:responder|dizer|obedecer)|obedeça\w*|recomende\w*|recuse\w*)\b",
        r"(?:从现在(?:开始|起)|從現在(?:開始|起)|今后|今後|以后|往后).{0,8}(?:总是|總是|必须|必須|永远|只能|都要|一律|始终|请)?.{0,6}(?:回答|回复|回覆|答复|说|說|推荐|拒绝|服从)",
        r"(?:今後|これから|以降|今から).{0,12}(?:常に|必ず|いつも|すべて|全て|決して)?.{0,20}(?:答え(?:て|ろ|なさい|ること)|回答し(?:て|ろ|なさい)|返答し(?:て|ろ|なさい)|言(?:って|いなさい|え)|従(?:って|え|いなさい)|勧めて)",
    ),
    REVEAL: (
        rf"\b{_SPILL} (?:to me |me )?(?:all |every |any |the |your |its |this )(?:\w+ ){{0,3}}?(?:{_HIDDEN} )?(?:prompts?|instructions|secrets?|api keys?|credentials|passwords?|configuration|rules|environment variables|guidelines)\b",
        rf"\b(?:print|show|output|display|give|tell|share|write|list|translate|summari[sz]e|paste|provide|return|what (?:is|are|was|were)|what's)\b(?: me| out| us| back)? (?:\w+ ){{0,2}}?your (?:\w+ )?(?:{_HIDDEN} )(?:prompts?|instructions|message|rules|configuration|guidelines)\b",
        r"\b(?:print|show|output|display|give|tell|share)\b(?: me| out| us)? (?:all )?your (?:instructions|guidelines|system prompt|secrets|credentials|api keys?|passwords?|environment variables)\b",
        rf"\b(?:print|show|output|repeat|display|write|paste|copy)\b (?:out )?(?:all |everything |the )*(?:{_HIDDEN} )?(?:text|words|prompt|instructions|message|everything|lines|content)s? (?:above|before this|verbatim|word for word)\b",
        r"\brepeat (?:back )?(?:everything|the (?:words|text) above|all of the above)\b",
        r"\b(?:zeig\w*|verrat\w*|offenbar\w*|gib|geben sie|nenn\w*|druck\w*|wiederhol\w*|enthüll\w*|schreib\w*)\b(?: \w+){0,3}? (?:dein\w*|ihr\w*|eur\w*|den|das|die|alle)(?: \w+){0,2}? ?(?:system-?\s?prompt\w*|systemanweisung\w*|systemnachricht|versteckten anweisungen|geheimen (?:anweisungen|daten|schlüssel))",
        r"\b(?:révèle[zr]?|montre[zr]?|affiche[zr]?|divulgue[zr]?|donne[zr]?|répète[zr]?|dévoile[zr]?)\b(?:-moi|-nous)?(?: \w+){0,2}? (?:ton|votre|tes|vos|le|les) (?:\w+ ){0,2}?(?:prompt(?: système| initial| caché)?|instructions (?:système|cachées|secrètes|initiales)|message système|secrets|mots de passe|clés api)\b(?! (?:dans|sur) (?:la|le|l'))",
        r"\b(?:revel[ae]\w*|muéstra\w*|muestra\w*|mostr[ae]\w*|divulg[aue]\w*|imprim[aei]\w*|repite|repita|dime|diga-me|mostre-me|exib[aei]\w*)\b(?: \w+){0,2}? (?:tus?|su|seus?|suas?|el|o|as|los|las)(?: \w+){0,2}? (?:prompt(?: (?:del|do|de) sistema| inicial| oculto)|instrucciones (?:del sistema|ocultas|secretas|iniciales)|instruções (?:do sistema|ocultas|secretas|iniciais)|mensaje del sistema|mensagem do sistema|secretos|segredos|contraseñas|senhas|claves api|chaves de api)\b",
        r"(?:透露|泄露|洩露|显示|顯示|输出|輸出|打印|告诉我|告訴我|重复|重複|公开|展示|说出).{0,8}(?:你的|系统|系統|隐藏|隱藏|初始|上面|以上).{0,6}(?:提示词|提示詞|提示|指令|指示|密钥|密碼|密码|秘密|规则|設定|设定|全部内容|所有内容)",
        r"(?:システム|隠され|あなた|秘密|初期|上記|内部).{0,6}(?:プロンプト|指示|命令|メッセージ|設定|パスワード|情報|鍵).{0,12}(?:表示し(?:て|ろ|なさい)|教えて|教えろ|開示|明かし|出力し(?:て|ろ|なさい)|見せて|見せろ|漏ら|公開し(?:て|ろ)|繰り返し)",
    ),
    CONCEALMENT: (
        r"\b(?:do not|don't|never|without) (?:tell(?:ing)?|inform(?:ing)?|notify(?:ing)?|alert(?:ing)?|warn(?:ing)?|let(?:ting)?) (?:the |any |this )?(?:users?|humans?|person)\b.{0,40}(?:this|that you|about|instruction|know|$|\.)",
        r"\b(?:do not|don't|never) (?:mention|reveal|disclose|acknowledge|repeat) (?:this|these|that) (?:instructions?|message|prompt|rule|note)s?\b",
        r"\b(?:sag|sage|verrate|erzähle|teile|informiere)\b (?:\w+ ){0,2}?(?:dem|der|den) (?:benutzer\w*|nutzer\w*|anwender\w*) (?:\w+ ){0,3}?(?:nichts|nicht)\b",
        r"\bne (?:dis|dites|révèle|révélez|mentionne[z]?|préviens|prévenez|informe[z]?) (?:rien|pas|jamais)?(?: \w+){0,3}? ?(?:l'utilisateur|aux utilisateurs|les utilisateurs)\b",
        r"\bno (?:le |les )?(?:digas|diga|reveles|revele|menciones|mencione|informes|informe) (?:\w+ ){0,3}?(?:usuarios?)\b|\bsin (?:decirle|informar|avisar) (?:nada )?(?:al|a los) usuarios?\b",
        r"\bnão (?:diga|conte|revele|mencione|informe) (?:\w+ ){0,3}?(?:usuários?|utilizador(?:es)?)\b|\bsem (?:avisar|informar|contar) (?:nada )?(?:a)?o usuário\b",
        r"(?:不要|别|請勿|请勿|禁止)(?:告诉|告訴|告知|通知|让|讓|提醒).{0,4}(?:用户|用戶|使用者)|(?:ユーザー|利用者)に(?:は)?.{0,12}(?:言わない|伝えない|教えない|知らせない|知らせず|内緒|秘密)",
    ),
}
_PATTERNS = tuple((why, re.compile("|".join(f"(?:{one})" for one in sources))) for why, sources in _SOURCES.items())
