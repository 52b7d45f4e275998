"""An answer's Markdown as HTML that may be shown: nothing in it runs or is loaded, and links say where they lead."""

from urllib.parse import urlsplit

import nh3
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_block.table import table
from markdown_it.rules_core import StateCore
from markdown_it.token import Token

#: What has more of these is shown as it was written: some Markdown takes time by the square of its length.
MOST_CHARACTERS, MOST_BRACKETS, MOST_CELLS = 20_000, 2_000, 10_000
SCHEMES = {"http", "https", "mailto"}
TAGS = set("p div strong em s code pre blockquote ul ol li hr br a span table thead tbody tr th td".split())
CLASSES = {"p": {"heading"}, "div": {"wide"}, "span": {"leads"}, "th": {"right", "center"}, "td": {"right", "center"}}
#: What scrolls is reached with the keyboard; a link leaves the chat open; bullets stand where their lines begin.
SET = {"pre": {"tabindex": "0"}, "div": {"tabindex": "0"}, "a": {"target": "_blank"}}
SET |= {tag: {"dir": "auto"} for tag in ("ul", "ol", "blockquote", "table")}


def as_html(text: str) -> SafeString:
    """``text`` as safe HTML. HTML in it is text; a picture is a link; a link to no site or mailbox is as written."""
    if len(text) > MOST_CHARACTERS or text.count("[") > MOST_BRACKETS:
        return mark_safe(f'<div class="plain">{escape(text)}</div>')
    return mark_safe(
        nh3.clean(
            _MARKDOWN.render(text),
            tags=TAGS,
            attributes={"*": set(), "a": {"href"}, "ol": {"start"}},
            allowed_classes=CLASSES,
            set_tag_attribute_values=SET,
            url_schemes=SCHEMES,
            url_relative="deny",
            link_rel="noopener noreferrer nofollow",
        )
    )


def last_block(text: str) -> tuple[int, int]:
    """How many blocks stand before the last one, and where that begins: what follows changes none before it."""
    begins = [token.map[0] for token in _MARKDOWN.parse(text) if token.level == 0 and token.map and token.nesting >= 0]
    if len(begins) < 2 or len(text) > MOST_CHARACTERS or "\r" in text:
        return 0, 0
    return len(begins) - 1, sum(len(line) + 1 for line in text.split("\n")[: begins[-1]])


class _Markdown(MarkdownIt):
    """CommonMark with tables; a line ends where it was ended."""

    def __init__(self) -> None:
        super().__init__("commonmark", {"html": False, "breaks": True})
        self.enable(["table", "strikethrough"])
        self.block.ruler.at("table", _table, {"alt": ["paragraph", "reference"]})
        self.core.ruler.push("ours", _ours)

    def validateLink(self, url: str) -> bool:  # noqa: N802  # its name for it
        """What leads somewhere else: addresses of this site are no model's to give."""
        return url.partition(":")[0].lower() in SCHEMES


def _table(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """None where few signs would make many cells: rows are filled up to the columns of the head."""
    head = state.src[state.bMarks[start] : state.eMarks[start]]
    return (head.count("|") + 1) * (end - start) <= MOST_CELLS and table(state, start, end, silent)


def _ours(state: StateCore) -> None:
    """Headings that do not meddle with the page's, tables that scroll, pictures and links that say where they lead."""
    made = []
    for token in state.tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = "p"
            token.attrs = {"class": "heading"} if token.nesting == 1 else {}
        elif token.type in ("th_open", "td_open"):
            aligned = str(token.attrs.get("style", "")).removeprefix("text-align:")
            token.attrs = {"class": aligned} if aligned in CLASSES["td"] else {}
        elif token.children:
            token.children = _leading(token.children)
        if token.type == "table_open":
            made.append(Token("wide_open", "div", 1, attrs={"class": "wide"}))
        made.append(token)
        if token.type == "table_close":
            made.append(Token("wide_close", "div", -1))
    state.tokens = made


def _leading(children: list[Token]) -> list[Token]:
    """The parts of a line, with what each link leads to behind it."""
    made: list[Token] = []
    href = said = ""
    for token in children:
        if token.type == "image" and href:
            made.append(_text(token.content))
        elif token.type == "image":
            href = str(token.attrs.get("src", ""))
            link = Token("link_open", "a", 1, attrs={"href": href})
            made += [link, _text(token.content or href), Token("link_close", "a", -1), *_where(href, token.content)]
            href = ""
        else:
            made.append(token)
            if token.type == "link_open":
                href, said = str(token.attrs.get("href", "")), ""
            elif token.type == "link_close":
                made += _where(href, said)
                href = ""
            elif href:
                said += token.content
    return made


def _where(href: str, said: str) -> list[Token]:
    """The site or mailbox of an address, unless the link says just that."""
    try:
        parts = urlsplit(href)
        where = parts.hostname or parts.path or href
    except ValueError:  # no such host is possible
        where = href
    if said in (href, where):
        return []
    begun = Token("span_open", "span", 1, attrs={"class": "leads"})
    return [begun, _text(f" ({where})"), Token("span_close", "span", -1)]


def _text(content: str) -> Token:
    return Token("text", "", 0, content=content)


_MARKDOWN = _Markdown()
