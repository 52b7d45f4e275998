"""The search over a member's chats also finds memory, of every project that they may open: what they may read."""

import html
import re
from datetime import timedelta
from typing import Any
from unittest import mock

from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils.html import escape

from memorybank import services
from memorybank.models import Fact, FactOutput
from memorybank.models.citation import FactSource
from memorybank.reading import browsing
from projects.memory import memory_search
from projects.models import Conversation, Membership, Project
from projects.tenancy import people
from tests.support.cast import NOON, Cast, without_models

OLD, NEW = "The zanzibar crane of the Bremen yard is orange.", "The zanzibar crane is blue."
SURGEON = "The surgeon of the zanzibar ward starts on 1 June."
#: Queries of the page apart from the search in memory, and those in each project.
PAGE_QUERIES, PROJECT_QUERIES = 17, 9


@without_models
class MemorySearchTest(Cast):
    @classmethod
    def setUpTestData(cls) -> None:
        super().setUpTestData()
        cls.switch_on(cls.apollo)
        cls.remember(cls.apollo, "alice", OLD, "old")
        cls.remember(cls.apollo, "bob", NEW, "new")
        cls.old, cls.new = Fact.objects.get(text=OLD), Fact.objects.get(text=NEW)

    def search(self, user: User, words: str = "zanzibar", address: str = "/") -> Any:
        self.client.force_login(user)
        return self.client.get(address, {"q": words})

    def found(self, user: User, words: str = "zanzibar") -> list[str]:
        return [line.row.line.text for line in self.search(user, words).context["memory"].lines]

    def narrow(self, chat_key: str, *readers: User) -> None:
        persons = [people.person_of(self.apollo, reader) for reader in readers]
        services.set_audience(self.apollo.bank, chat_key=chat_key, readers=persons, actor="alice")
        services.run(bank=self.apollo.bank, now=NOON + timedelta(hours=2))  # writes the search index

    def follow(self, page: Any, text: str) -> Any:
        """Open the address of the line, and check that the line stands where the address points."""
        address = next(line.address for line in page.context["memory"].lines if line.row.line.text == text)
        self.assertContains(page, f'href="{escape(address)}"')
        opened = self.client.get(address)
        self.assertContains(opened, f'id="{address.partition("#")[2]}"')
        return opened

    def test_what_others_decided_is_found_and_leads_to_its_line(self) -> None:
        page = self.search(self.vera)
        self.assertContains(page, f"<b>bob</b> {NEW}")
        self.assertContains(page, "Apollo · 2 March 2026 · Fact")
        self.assertContains(page, "No chat of yours has “zanzibar” in it.")
        self.assertContains(page, "Fact · From a chat that you cannot open.")
        self.assertContains(self.follow(page, NEW), NEW)

    def test_a_line_that_was_added_by_hand_is_not_called_one_of_a_chat(self) -> None:
        text = "The wombat sleeps in Lisbon."
        services.add_fact(self.apollo.bank, text=text, actor="alice")
        page = self.search(self.alice, "wombat")
        self.assertContains(page, text)
        self.assertNotContains(page, "From a chat that you cannot open.")

    def test_of_more_lines_than_are_shown_of_a_project_a_link_leads_to_all(self) -> None:
        texts = [f"The wombat number {number} sleeps in Lisbon." for number in range(6)]
        for text in texts:
            services.add_fact(self.apollo.bank, text=text, actor="alice")
        page = self.search(self.vera, "wombat")
        self.assertContains(page, "<h1>Search: “wombat”</h1>")
        self.assertEqual(len(page.context["memory"].lines), 5)
        address = f"{reverse('memory-facts', args=['acme', 'apollo'])}?q=wombat"
        self.assertContains(page, f'<a href="{address}">All lines of Apollo with “wombat”</a>')
        opened = self.client.get(address)
        for text in texts:
            self.assertContains(opened, text)
        self.assertNotContains(self.search(self.vera), "All lines of Apollo")

    def test_the_last_word_may_be_the_beginning_of_one_and_whole_words_come_first(self) -> None:
        lamps = "The lamp 22600-B of NWC-2026-14 costs 40 euros.", "The old lamp 22600 costs 55 euros."
        self.remember(self.apollo, "bob", lamps[1], "whole")
        self.remember(self.apollo, "bob", lamps[0], "begun")
        self.assertEqual(self.found(self.vera, "22600"), [lamps[1], lamps[0]])
        for words in ("NWC-2026", "nwc-", "lamp NWC-2026", "22600-b nwc-20", "(NWC-2026-1"):
            self.assertEqual(self.found(self.vera, words)[-1:], [lamps[0]], words)
        self.assertEqual(self.found(self.vera, "2600"), [])  # not the middle of a word
        self.assertEqual(self.found(self.vera, "quokka NWC-2026"), [])
        self.assertEqual(self.found(self.charlie, "NWC-2026"), [])
        facts = self.client.get(reverse("memory-facts", args=["acme", "apollo"]), {"q": "NWC-2026"})
        self.assertEqual(facts.status_code, 404)  # charlie is a stranger
        page = self.search(self.bob, "NWC-2026", reverse("memory-facts", args=["acme", "apollo"]))
        self.assertContains(page, lamps[0])
        self.assertContains(self.search(self.bob, "NWC-2026", reverse("project", args=["acme", "apollo"])), lamps[0])
        services.hide(self.apollo.bank, fact_ids=[Fact.objects.get(text=lamps[0]).pk], actor="alice")
        self.assertEqual(self.found(self.vera, "NWC-2026"), [])
        memory = services.prompt_memory(self.apollo.bank, question="NWC-20")
        self.assertEqual(memory.recalled.lines, ())  # a chat is given nothing for it

    def test_home_says_how_many_chats_are_one_s_own_and_leads_to_all_of_them(self) -> None:
        for number in range(10):
            chat = services.record(
                self.apollo.bank,
                chat_key=f"own{number}",
                author="alice",
                question=f"What is {number}?",
                answer="A number.",
                title=f"Chat {number}",
                created_at=NOON + timedelta(minutes=number),
                now=NOON + timedelta(minutes=number),
            ).chat
            Conversation.objects.create(chat=chat, owner=self.alice)
        self.client.force_login(self.alice)
        page = self.client.get("/")
        self.assertContains(page, "12 chats, 10 of them yours")
        [earlier] = re.findall(r'href="([^"]*)#recent">Earlier chats', page.content.decode())
        pages = page.content.decode() + self.client.get(f"/{earlier}").content.decode()
        self.assertEqual([pages.count(f"chats/own{number}/") for number in range(10)], [1] * 10)
        self.client.force_login(self.bob)
        self.assertContains(self.client.get("/"), "12 chats\n")

    def test_characters_without_words_find_nothing(self) -> None:
        facts = reverse("memory-facts", args=["acme", "apollo"])
        for words in ("ﹰ", "a ﹰ", "ﹰ-ﹰ", "ﹰﹰ", "-", "_"):
            self.assertEqual(self.found(self.vera, words), [], words)
            self.assertEqual(self.search(self.bob, words, facts).status_code, 200)

    def test_one_character_is_not_completed_and_facts_without_the_whole_words_are_not_split(self) -> None:
        self.assertEqual((self.found(self.vera, "b"), self.found(self.vera, "bl")), ([], [NEW]))
        with mock.patch.object(browsing, "content_words", wraps=browsing.content_words) as split:
            self.assertEqual(self.found(self.vera, "quokka cra"), [])
        self.assertEqual([call.args[0].strip() for call in split.call_args_list], ["quokka"])

    def test_a_line_of_an_own_chat_leads_to_its_turn_there_and_on_every_page_that_shows_it(self) -> None:
        said = "The quokka of the zanzibar ward is tame."
        chat = self.begin_chat(self.bob, self.apollo)
        fields = {"chat_key": chat.key, "author": "bob", "question": said}
        turn = services.record(self.apollo.bank, **fields, created_at=NOON, now=NOON)
        services.run(bank=self.apollo.bank, now=NOON + timedelta(hours=2))
        fact = Fact.objects.get(text=said)
        anchor = f"turn-{services.public_id(turn.pk)}"
        why = reverse("memory-why", args=["acme", "apollo", fact.pk])
        facts = reverse("memory-facts", args=["acme", "apollo"])
        for page in (self.search(self.bob, "quokka"), self.search(self.bob, "quokka", facts)):
            [address] = re.findall(rf'href="([^"]*#{anchor})">Where it was said', page.content.decode())
            self.assertContains(self.client.get(html.unescape(address)), f'id="{anchor}"')
        self.assertNotContains(self.search(self.vera, "quokka"), anchor)
        self.assertNotContains(self.search(self.alice, "quokka", facts), anchor)
        self.assertNotContains(self.client.get(why), anchor)  # alice reads what was said, but not in bob's chat
        self.assertNotContains(self.search(self.bob, "blue"), "Where it was said")
        Conversation.objects.filter(chat=chat).update(owner=self.alice)
        self.client.force_login(self.alice)
        self.assertContains(self.client.get(why), f'#{anchor}">Where it was said')

    def test_a_line_leads_to_the_three_newest_turns_that_it_rests_on_each_once(self) -> None:
        chat = self.begin_chat(self.bob, self.apollo)
        fields = {"chat_key": chat.key, "author": "bob", "created_at": NOON, "now": NOON}
        turns = [services.record(self.apollo.bank, question=f"Quokka {n} is tame.", **fields) for n in range(5)]
        services.run(bank=self.apollo.bank, now=NOON + timedelta(hours=2))
        sources = Fact.objects.filter(text__startswith="Quokka")
        FactOutput.objects.filter(fact__in=sources).delete()
        FactOutput.objects.bulk_create(FactOutput(fact=fact, output=turn) for fact in sources for turn in turns)
        FactSource.objects.bulk_create(FactSource(fact=self.old, source=fact) for fact in sources)
        newest = [f"#turn-{services.public_id(turn.pk)}" for turn in reversed(turns[2:])]
        for words, text in (("orange", OLD), ("quokka", sources[0].text)):
            [row] = [
                line.row for line in self.search(self.bob, words).context["memory"].lines if line.row.line.text == text
            ]
            self.assertEqual([address[address.index("#") :] for address in row.own_turns], newest)

    def test_it_is_found_on_the_page_of_its_project_only(self) -> None:
        hermes = self.project(self.acme, "hermes")
        self.assertContains(self.search(self.bob, address=reverse("project", args=["acme", "apollo"])), NEW)
        page = self.search(self.bob, address=reverse("project", args=["acme", hermes.slug]))
        self.assertContains(page, "Nothing in your chats or in the memory of this project has “zanzibar” in it.")

    def test_nothing_is_found_where_there_is_nothing(self) -> None:
        page = self.search(self.bob, "<quokka>")
        empty = "Nothing in your chats or in the memory of your projects has “&lt;quokka&gt;” in it."
        self.assertContains(page, empty)
        self.assertNotContains(page, "In memory")
        self.assertEqual(self.client.get("/").context["memory"].lines, [])

    def test_a_fact_for_one_person_is_found_by_that_person_alone(self) -> None:
        self.remember(self.apollo, "alice", SURGEON, "ward")
        self.narrow("ward", self.alice)
        self.assertIn(SURGEON, self.found(self.alice))
        for user in (self.bob, self.vera):
            self.assertEqual(set(self.found(user)), {OLD, NEW})
            self.assertNotContains(self.search(user, "surgeon"), "1 June")
        self.narrow("ward", self.bob)
        self.assertNotIn(SURGEON, self.found(self.alice))
        page = self.search(self.bob)
        self.assertContains(page, '<span class="badge">only me</span>')
        self.assertContains(self.follow(page, SURGEON), SURGEON)

    def test_projects_that_somebody_may_not_open_are_not_searched(self) -> None:
        self.assertEqual(self.found(self.charlie), [])
        Project.objects.filter(pk=self.apollo.pk).update(members_only=True)
        self.assertEqual((self.found(self.bob), len(self.found(self.alice))), ([], 2))
        self.apollo.named.add(Membership.objects.get(user=self.bob))
        self.assertEqual(len(self.found(self.bob)), 2)
        self.assertEqual(self.found(self.root), [])

    def test_a_replaced_fact_comes_after_the_valid_one_and_says_so(self) -> None:
        asked = "orange zanzibar crane in the Bremen yard"
        self.assertEqual(self.found(self.vera, asked), [OLD, NEW])
        Fact.objects.filter(pk=self.old.pk).update(superseded_by=self.new)
        self.assertEqual(self.found(self.vera, asked), [NEW, OLD])
        self.assertContains(self.search(self.vera, asked), f"replaced by “{NEW}”")

    def test_a_fact_that_a_private_one_replaced_is_left_out_for_its_readers(self) -> None:
        Fact.objects.filter(pk=self.old.pk).update(superseded_by=self.new)
        self.narrow("new", self.bob)
        Fact.objects.filter(pk=self.old.pk).update(superseded_by=self.new)
        self.assertEqual((self.found(self.bob), self.found(self.alice)), ([NEW], [OLD]))

    def test_hidden_and_refused_facts_are_not_found_and_a_rule_is_while_it_waits_for_an_owner(self) -> None:
        rule = "The assistant must never mention zanzibar to customers."
        self.remember(self.apollo, "bob", rule, "rule")
        services.hide(self.apollo.bank, fact_ids=[self.old.pk], actor="alice")
        self.assertEqual(set(self.found(self.vera)), {NEW, rule})
        self.assertContains(self.search(self.vera), f"<b>bob</b> says “{rule}”")
        self.assertContains(self.search(self.vera), "waits for an owner")
        waiting = Fact.objects.exclude(quarantine="").get()
        services.confirm_quarantine(self.apollo.bank, fact_ids=[waiting.pk], actor="alice")
        services.run(bank=self.apollo.bank, now=NOON + timedelta(hours=2))
        self.assertEqual(self.found(self.vera), [NEW])

    def test_so_many_projects_are_searched_with_so_many_queries_and_the_page_says_so(self) -> None:
        self.assertNotContains(self.search(self.bob), "projects with the latest chats was searched")
        for number in range(memory_search.MAX_PROJECTS):
            project = self.project(self.acme, f"project{number}")
            self.switch_on(project)
            for chat in range(memory_search.MAX_LINES_OF_ONE + 1):
                at = NOON + timedelta(days=1)
                text = f"The zanzibar crane of yard {number}{chat} is green."
                services.record(
                    project.bank,
                    chat_key=f"c{chat}",
                    author="bob",
                    question=text,
                    answer="Noted.",
                    created_at=at,
                    now=at,
                )
            services.run(bank=project.bank, now=at + timedelta(hours=1))
        with CaptureQueriesContext(connection) as captured:
            page = self.search(self.bob)
        self.assertLessEqual(len(captured), PAGE_QUERIES + memory_search.MAX_PROJECTS * PROJECT_QUERIES)
        lines = page.context["memory"].lines
        self.assertEqual(len(lines), memory_search.MAX_LINES)
        ranks = [line.rank for line in lines]
        self.assertEqual(ranks, sorted(ranks))
        self.assertGreater(len({line.project for line in lines}), 1)  # the best of all, in one list
        self.assertNotIn(self.apollo, {line.project for line in lines})
        self.assertContains(page, "Only the memory of your 10 projects with the latest chats was searched.")
