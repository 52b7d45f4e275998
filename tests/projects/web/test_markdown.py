"""Markdown of answers: what people expect, and nothing that runs, loads or hides where it leads."""

import re
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from projects.web.highlighting import ALIASES, LEXERS, MAX_SLOW_CHARACTERS, SLOW_LEXERS, highlighted
from projects.web.markdown import (
    ALLOWED_CLASSES,
    ALLOWED_TAGS,
    MAX_BRACKETS,
    MAX_CHARACTERS,
    MAX_TABLE_CELLS,
    as_html,
    with_sources,
)
from tests.support.cast import Cast, scripted, with_chat_model
from tests.support.commands import shell

HREF = re.compile(r"(https?://|mailto:)\S*")
ATTRIBUTES = {"href", "start", "class", "dir", "tabindex", "target", "rel"}
CLASS_NAMES = set().union(*ALLOWED_CLASSES.values(), {"plain"})


class Walked(HTMLParser):
    """Every tag with its attributes, and the text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


def hrefs(html: str) -> list[str | None]:
    return [attrs.get("href") for tag, attrs in Walked(html).tags if tag == "a"]


def assert_harmless(html: str) -> None:
    for tag, attrs in Walked(html).tags:
        assert tag in ALLOWED_TAGS
        assert set(attrs) <= ATTRIBUTES
        assert HREF.fullmatch(attrs.get("href") or "https://")
        assert set((attrs.get("class") or "").split()) <= CLASS_NAMES
        if tag == "a":
            assert attrs["rel"] == "noopener noreferrer nofollow"


def test_task_lists_show_what_is_done() -> None:
    html = as_html("- [ ] paint `it`\n- [x] order\n- [y] no task\n\n1. [X] loose\n\n[ ] no list")
    assert re.findall(r"<li>(?:\s*<p>)?(.*)", html) == [
        "☐ paint <code>it</code></li>",
        "☑ order</li>",
        "[y] no task</li>",
        "☑ loose</li>",
    ]
    assert "<p>[ ] no list</p>" in html


def test_code_has_colours_where_its_language_is_known_and_stays_the_same_text() -> None:
    code = 'def total(x: int = 19) -> str:\n    return "<b>&"  # a note\n'
    html = as_html(f"```py\n{code}```")
    assert '<span class="k">def</span> <span class="f">total</span>' in html
    assert '<span class="s">"&lt;b&gt;&amp;"</span>  <span class="c"># a note</span>' in html
    assert Walked(html).text.strip("\n") == code.strip("\n")
    assert as_html(f"```klingon\n{code}```") == as_html(f"```\n{code}```")
    assert "<span" not in as_html(f"```\n{code}```")
    assert '<span class="d">-old</span>\n<span class="i">+new</span>' in as_html("```diff\n-old\n+new\n```")
    long = "a: 1\n" * MAX_SLOW_CHARACTERS
    assert "<span" not in as_html(f"```yaml\n{long}```")


@given(st.text(), st.sampled_from([*LEXERS, *SLOW_LEXERS, *ALIASES]))
@example("\r\n\n x \t", "python")
def test_colours_change_no_character_of_code(code: str, language: str) -> None:
    html = highlighted(code, language)
    assert_harmless(html)
    assert unescape(re.sub(r"</?span[^>]*>", "", html)) == code.replace("\r\n", "\n").replace("\r", "\n")


def test_formulas_stay_as_they_were_written_and_prices_are_none() -> None:
    html = as_html(
        r"Mean \(\bar{x}_1 * y_2 * z\), $a_1 * b_2 * c$, $$\, d$$, \[e \\ f\]" + "\n\n\\[\n\\frac{1}{<2}\n\\]"
    )
    for formula in (r"\bar{x}_1 * y_2 * z", "a_1 * b_2 * c", r"\, d", r"\frac{1}{&lt;2}"):
        assert f'<code class="math">{formula}</code>' in html
    assert "math" not in as_html("It costs $5 to $10, or US$ 7 and 8 $ more.")


def test_the_number_of_a_source_is_a_link_whatever_the_answer_has_in_it() -> None:
    answer = "It is \ue0009\ue001 **orange <b>.**\n\n`code`"
    end = answer.index("\n")
    html = with_sources(answer, [(end, 1), (end, 2)], "/used?a=1&b=2#source-")
    assert re.findall(r'<a class="cite" href="([^"]*)" aria-label="([^"]*)">', html) == [
        ("/used?a=1&amp;b=2#source-1", "Source [1]"),
        ("/used?a=1&amp;b=2#source-2", "Source [2]"),
    ]
    assert "<strong>orange &lt;b&gt;.</strong>" in html
    assert "\ue000" not in html and "\ue001" not in html


def test_code_tables_lists_and_emphasis_are_shown() -> None:
    html = as_html("# Plan\n\n- **one** `<x>`\n- ~~two~~\n\n```\nif a < b:\n    go()\n```\n\n|a|b|\n|-|-:|\n|1|2|\n")
    for part in (
        '<p class="heading">Plan</p>',
        "<strong>one</strong> <code>&lt;x&gt;</code>",
        "<s>two</s>",
        '<pre tabindex="0"><code>if a &lt; b:\n    go()\n</code></pre>',
        '<div class="wide" tabindex="0"><table dir="auto">',
        '<td class="right">2</td>',
    ):
        assert part in html


def test_a_line_ends_where_it_was_ended_and_a_list_begins_where_it_says() -> None:
    assert as_html("one\ntwo") == "<p>one<br>\ntwo</p>\n"
    assert '<ol start="4" dir="auto">' in as_html("4. June")


def test_a_link_says_where_it_leads() -> None:
    text = Walked(
        as_html("[the bank](https://bank.example@evil.example:80/x) [https://good.example](http://evil.example)")
    ).text
    assert text.split() == ["the", "bank", "(evil.example)", "https://good.example", "(evil.example)"]
    assert Walked(as_html("<https://a.example/x> [a.example](https://a.example/y)")).text.count("(") == 0
    assert "(a@b.example)" in as_html("[write](mailto:a@b.example?subject=x)")
    assert "title" not in as_html('[x](https://evil.example "https://good.example")')


def test_a_picture_is_a_link_and_nothing_is_loaded() -> None:
    html = as_html(
        "![a cat](https://track.example/c.png) [![x](https://i.example/i.png)](https://to.example) ![](https://n.example)"
    )
    assert "<img" not in html
    assert hrefs(html) == ["https://track.example/c.png", "https://to.example", "https://n.example"]
    assert 'a cat</a><span class="leads"> (track.example)</span>' in html


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "<svg/onload=alert(1)>", "<style>*{}</style>",
        "[x](javascript:alert(1))", "[x](JaVaScript&#58;alert(1))", "[x](java\tscript:alert(1))", "[x](/logout/)",
        "[x](data:text/html,<script>)", "![x](data:image/svg+xml;base64,PHN2Zz4=)", "[x](//evil.example)",
        "<javascript:alert(1)>", "[x]: javascript:alert(1)\n\n[x]", "[x](vbscript:y)", "[x](file:///etc/passwd)",
        "```\"><script>\nx\n```", "`</code><script>`", "|<script>|\n|-|\n|<img src=x>|", "[x](http://[::1)",
        "<iframe src=https://evil.example>", "<!-- --><base href=x>", "&lt;script&gt;", "[a](<javascript:x>)",
        "[x](http://a.b\"onclick=alert(1))", "# <form action=x>",
        "<a href='https://evil.example'>x</a>", "![x](//evil.example/y.png)",
    ],
)  # fmt: skip
def test_hostile_markdown_is_text(text: str) -> None:
    html = as_html(text)
    assert_harmless(html)
    assert not {"/logout/", "//evil.example"} & set(hrefs(html))


MARKS = st.sampled_from(
    "[ ] ( ) ! < > ` * _ ~ | - # & ; : / \\ \" ' = @ \n \t 1. http:// javascript: ﬀ ℡ \u202e \x00 a".split(" ")
)


@given(st.lists(MARKS, max_size=40).map("".join))
@example("[x](http://℀.example)")
def test_whatever_is_said_can_be_shown_and_does_nothing(text: str) -> None:
    assert_harmless(as_html(text))


def test_what_would_take_long_is_shown_as_it_was_written() -> None:
    for text in ("<b> " * (MAX_CHARACTERS // 4 + 1), "[" * (MAX_BRACKETS + 1)):
        html = as_html(text)
        assert Walked(html).tags == [("div", {"class": "plain"})]
        assert Walked(html).text == text
    wide = "|a" * 200 + "\n" + "|-" * 200 + "\n" + "|\n" * (MAX_TABLE_CELLS // 200)
    assert "<table" not in as_html(wide)


def test_nothing_but_an_answer_imports_it(tmp_path: Path) -> None:
    looked = "import config.urls, sys; print(sorted({'nh3', 'markdown_it'} & set(sys.modules)))"
    result = shell("shell", "--no-imports", "-c", looked, data=tmp_path)
    assert result.out.strip() == "[]", result


@with_chat_model()
class AnswerTest(Cast):
    def test_an_answer_is_formatted_at_once_and_when_it_is_read_again(self) -> None:
        chat = self.begin_chat(self.bob, self.apollo)
        scripted().enqueue("**Noon**, says <b>.")
        reply = self.say(self.bob, chat, "When is *lunch*?").json()
        self.assertEqual(reply["answer"], "**Noon**, says <b>.")
        self.assertEqual(reply["html"], "<p><strong>Noon</strong>, says &lt;b&gt;.</p>\n")
        page = self.client.get(self.chat_url(chat))
        self.assertContains(page, reply["html"])
        self.assertContains(page, "When is *lunch*?")
