"""Markdown of answers as safe HTML: nothing in it runs or is loaded, and links say where they lead.

Its libraries take 0.2 s to load, so they are loaded by the first answer that is shown.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_block import StateBlock
    from markdown_it.rules_core import StateCore
    from markdown_it.token import Token

#: Larger answers are shown as plain text, larger tables as written: some Markdown takes quadratic time.
MAX_CHARACTERS, MAX_BRACKETS, MAX_TABLE_CELLS = 20_000, 2_000, 10_000
SCHEMES = {"http", "https", "mailto"}
TAGS = set("p div strong em s code pre blockquote ul ol li hr br a span table thead tbody tr th td".split())
CLASSES = {"p": {"heading"}, "div": {"wide"}, "span": {"leads"}, "th": {"right", "center"}, "td": {"right", "center"}}
#: The keyboard reaches what scrolls; a link opens a new tab; bullets stand where their lines begin.
SET_ATTRIBUTES = {"pre": {"tabindex": "0"}, "div": {"tabindex": "0"}, "a": {"target": "_blank"}}
SET_ATTRIBUTES |= {tag: {"dir": "auto"} for tag in ("ul", "ol", "blockquote", "table")}


def as_html(text: str) -> SafeString:
    """``text`` as safe HTML. HTML in it is text; a picture is a link; a link to no site or mailbox is as written."""
    if len(text) > MAX_CHARACTERS or text.count("[") > MAX_BRACKETS:
        return mark_safe(f'<div class="plain">{escape(text)}</div>')
    import nh3

    return mark_safe(
        nh3.clean(
            _parser().render(text),
            tags=TAGS,
            attributes={"*": set(), "a": {"href"}, "ol": {"start"}},
            allowed_classes=CLASSES,
            set_tag_attribute_values=SET_ATTRIBUTES,
            url_schemes=SCHEMES,
            url_relative="deny",
            link_rel="noopener noreferrer nofollow",
        )
    )


@dataclass(slots=True)
class IncrementalHTML:
    """Incremental HTML of a streaming answer: finished blocks are rendered and sent once.

    The first ``characters`` of the answer are finished, as ``blocks`` elements on the page.
    """

    characters: int = 0
    blocks: int = 0

    def update(self, text: str) -> tuple[int, str]:
        """The first element on the page to replace, and the HTML for it and all after it, to show ``text``."""
        first, (blocks, characters) = self.blocks, _finished_blocks(text[self.characters :])
        html = as_html(text[self.characters :])
        self.characters, self.blocks = self.characters + characters, self.blocks + blocks
        return first, html


def _finished_blocks(text: str) -> tuple[int, int]:
    """The number of blocks before the last one, and their length: more text does not change them."""
    begins = [token.map[0] for token in _parser().parse(text) if token.level == 0 and token.map and token.nesting >= 0]
    if len(begins) < 2 or len(text) > MAX_CHARACTERS or "\r" in text:
        return 0, 0
    return len(begins) - 1, sum(len(line) + 1 for line in text.split("\n")[: begins[-1]])


@cache
def _parser() -> MarkdownIt:
    """CommonMark with tables and strikethrough; every line break is one."""
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": False, "breaks": True})
    parser.enable(["table", "strikethrough"])
    parser.block.ruler.at("table", _table, {"alt": ["paragraph", "reference"]})
    parser.core.ruler.push("adapt", _adapt)
    parser.validateLink = _is_external  # type: ignore[method-assign]
    return parser


def _is_external(url: str) -> bool:
    """Models may not link to addresses of this site."""
    return url.partition(":")[0].lower() in SCHEMES


def _table(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """No table where a few characters would make many cells: rows are filled up to the columns of the head."""
    from markdown_it.rules_block.table import table

    head = state.src[state.bMarks[start] : state.eMarks[start]]
    return (head.count("|") + 1) * (end - start) <= MAX_TABLE_CELLS and table(state, start, end, silent)


def _adapt(state: StateCore) -> None:
    """Make headings paragraphs, let tables scroll, and show where links and pictures lead."""
    tokens = []
    for token in state.tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = "p"
            token.attrs = {"class": "heading"} if token.nesting == 1 else {}
        elif token.type in ("th_open", "td_open"):
            aligned = str(token.attrs.get("style", "")).removeprefix("text-align:")
            token.attrs = {"class": aligned} if aligned in CLASSES["td"] else {}
        elif token.children:
            token.children = _with_destinations(token.children)
        if token.type == "table_open":
            tokens.append(_token("wide_open", "div", 1, attrs={"class": "wide"}))
        tokens.append(token)
        if token.type == "table_close":
            tokens.append(_token("wide_close", "div", -1))
    state.tokens = tokens


def _with_destinations(children: list[Token]) -> list[Token]:
    """The parts of a line, each link followed by where it leads. A picture becomes a link."""
    tokens: list[Token] = []
    href = label = ""
    for token in children:
        if token.type == "image" and href:
            tokens.append(_text(token.content))
        elif token.type == "image":
            href = str(token.attrs.get("src", ""))
            link = _token("link_open", "a", 1, attrs={"href": href})
            tokens += [link, _text(token.content or href), _token("link_close", "a", -1)]
            tokens += _destination(href, token.content)
            href = ""
        else:
            tokens.append(token)
            if token.type == "link_open":
                href, label = str(token.attrs.get("href", "")), ""
            elif token.type == "link_close":
                tokens += _destination(href, label)
                href = ""
            elif href:
                label += token.content
    return tokens


def _destination(href: str, label: str) -> list[Token]:
    """The site or mailbox of an address, unless the link's label is just that."""
    try:
        parts = urlsplit(href)
        site = parts.hostname or parts.path or href
    except ValueError:  # no such host is possible
        site = href
    if label in (href, site):
        return []
    opening = _token("span_open", "span", 1, attrs={"class": "leads"})
    return [opening, _text(f" ({site})"), _token("span_close", "span", -1)]


def _text(content: str) -> Token:
    return _token("text", "", 0, content=content)


def _token(kind: str, tag: str, nesting: int, **more: Any) -> Token:
    from markdown_it.token import Token

    return Token(kind, tag, nesting, **more)  # type: ignore[arg-type]  # -1, 0 or 1
