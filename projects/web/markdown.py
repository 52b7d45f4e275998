"""Render the Markdown of answers as safe HTML: no scripts, no loaded resources, and links show their destination.

The Markdown libraries take 0.2 s to import, so they are imported when the first answer is shown.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain, pairwise, zip_longest
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _

from . import highlighting

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_block import StateBlock
    from markdown_it.rules_core import StateCore
    from markdown_it.token import Token

#: Larger answers are shown as plain text, larger tables as written: some Markdown takes quadratic time.
MAX_CHARACTERS, MAX_BRACKETS, MAX_TABLE_CELLS = 20_000, 2_000, 10_000
ALLOWED_SCHEMES = {"http", "https", "mailto"}
ALLOWED_TAGS = set("p div strong em s code pre blockquote ul ol li hr br a span table thead tbody tr th td".split())
ALLOWED_CLASSES = {
    "p": {"heading"},
    "div": {"wide"},
    "span": {"leads", *highlighting.TOKEN_CLASSES.values()},
    "code": {"math"},
    "th": {"right", "center"},
    "td": {"right", "center"},
}
#: Scrolling elements get keyboard focus, links open a new tab, and bullets are on the side where their text begins.
SET_ATTRIBUTES = {"pre": {"tabindex": "0"}, "div": {"tabindex": "0"}, "a": {"target": "_blank"}}
SET_ATTRIBUTES |= {tag: {"dir": "auto"} for tag in ("ul", "ol", "blockquote", "table")}


_TASK = re.compile(r"\[([ xX])\] (?=\S)")
_SIGNS = re.compile(r"[\\^_={}+*/<>-]")
#: Enclose the number of a source while Markdown is parsed: private-use characters, which nobody types.
_BEFORE_MARK, _AFTER_MARK = "\ue000", "\ue001"
_MARK = re.compile(rf"\s?{_BEFORE_MARK}(\d+){_AFTER_MARK}")


def with_sources(text: str, marks: Sequence[tuple[int, int]], address: str) -> SafeString:
    """Like :func:`as_html`, with links to numbered sources; ``marks`` are pairs (offset in ``text``, number).

    The link to source 1 is ``address`` followed by ``1``.
    """
    clean = text.translate({ord(_BEFORE_MARK): " ", ord(_AFTER_MARK): " "})
    offsets = [0, *(offset for offset, _ in marks), len(clean)]
    pieces = [clean[start:end] for start, end in pairwise(offsets)]
    signs = [f" {_BEFORE_MARK}{number}{_AFTER_MARK}" for _, number in marks]
    html = as_html("".join(chain.from_iterable(zip_longest(pieces, signs, fillvalue=""))))
    label = escape(_("Source [%s]"))
    link = f'<a class="cite" href="{escape(address)}%s" aria-label="{label}">[%s]</a>'
    return mark_safe(_MARK.sub(lambda mark: link % ((mark[1],) * 3), html))


def as_html(text: str) -> SafeString:
    """Render Markdown as safe HTML: HTML in it is escaped, and an image becomes a link.

    Links with a scheme other than http, https and mailto, or with none, stay as written.
    """
    if len(text) > MAX_CHARACTERS or text.count("[") + text.count("\\(") > MAX_BRACKETS:
        return mark_safe(f'<div class="plain">{escape(text)}</div>')
    import nh3

    return mark_safe(
        nh3.clean(
            _parser().render(text),
            tags=ALLOWED_TAGS,
            attributes={"*": set(), "a": {"href"}, "ol": {"start"}},
            allowed_classes=ALLOWED_CLASSES,
            set_tag_attribute_values=SET_ATTRIBUTES,
            url_schemes=ALLOWED_SCHEMES,
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
    """A parser for CommonMark with tables, strikethrough and TeX formulas; each newline becomes a line break."""
    from markdown_it import MarkdownIt
    from mdit_py_plugins.dollarmath import dollarmath_plugin
    from mdit_py_plugins.texmath import texmath_plugin

    options = {"html": False, "breaks": True, "highlight": _code_block}
    parser = MarkdownIt("commonmark", options)
    parser.enable(["table", "strikethrough"])
    # "$5 to $10" is no formula: no space after the first dollar sign or before the last, no digit beside them.
    dollarmath_plugin(parser, allow_labels=False, allow_space=False, allow_digits=False, double_inline=True)
    texmath_plugin(parser, delimiters="brackets")
    for kind in ("math_inline", "math_inline_double", "math_block"):
        parser.add_render_rule(kind, _formula)
    parser.block.ruler.at("table", _table, {"alt": ["paragraph", "reference"]})
    parser.core.ruler.push("adapt", _adapt)
    parser.validateLink = _is_external  # type: ignore[method-assign]
    return parser


def _code_block(code: str, language: str, attributes: str) -> str:
    """A fenced code block; without colours if the number of a source is in it, which they could tear apart."""
    html = highlighting.highlighted(code, "" if _BEFORE_MARK in code else language)
    return f"<pre><code>{html}</code></pre>"


def _formula(renderer: object, tokens: Sequence[Token], index: int, options: object, env: object) -> str:
    """A TeX formula as it was written, without its delimiters; its backslashes and underscores are no Markdown."""
    token = tokens[index]
    if token.markup == "$" and " " in token.content and not _SIGNS.search(token.content):
        return escape(f"${token.content}$")  # "$10 or US$": two prices
    code = f'<code class="math">{escape(token.content.strip())}</code>'
    return code if token.type.startswith("math_inline") else f"<p>{code}</p>"


def _is_external(url: str) -> bool:
    """Whether a link has an allowed scheme: models may not link to relative addresses, which are on this site."""
    return url.partition(":")[0].lower() in ALLOWED_SCHEMES


def _table(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Refuse a huge table: rows are padded to the columns of the header, so a few characters can add many cells."""
    from markdown_it.rules_block.table import table

    head = state.src[state.bMarks[start] : state.eMarks[start]]
    return (head.count("|") + 1) * (end - start) <= MAX_TABLE_CELLS and table(state, start, end, silent)


def _adapt(state: StateCore) -> None:
    """Make headings paragraphs, let tables scroll, and show where links and pictures lead."""
    tokens: list[Token] = []
    for token in state.tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = "p"
            token.attrs = {"class": "heading"} if token.nesting == 1 else {}
        elif token.type in ("th_open", "td_open"):
            aligned = str(token.attrs.get("style", "")).removeprefix("text-align:")
            token.attrs = {"class": aligned} if aligned in ALLOWED_CLASSES["td"] else {}
        elif token.children:
            if [before.type for before in tokens[-2:]] == ["list_item_open", "paragraph_open"]:
                _show_task(token.children[0])
            token.children = _with_destinations(token.children)
        if token.type == "table_open":
            tokens.append(_token("wide_open", "div", 1, attrs={"class": "wide"}))
        tokens.append(token)
        if token.type == "table_close":
            tokens.append(_token("wide_close", "div", -1))
    state.tokens = tokens


def _show_task(first: Token) -> None:
    """Show ``[ ]`` or ``[x]`` at the start of a list item as a checkbox character, which screen readers announce."""
    if first.type == "text" and (task := _TASK.match(first.content)):
        sign = "\u2610" if task[1] == " " else "\u2611"  # ballot box, ballot box with check
        first.content = f"{sign} {first.content[task.end() :]}"


def _with_destinations(children: list[Token]) -> list[Token]:
    """Insert the destination of each link after it, and turn images into links."""
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
    """Tokens that show the host or mailbox of a link; none if the label already shows it."""
    try:
        parts = urlsplit(href)
        site = parts.hostname or parts.path or href
    except ValueError:  # the host is invalid
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
