"""Machines that watch the site learn whether it lives, what is missing, how memory fares, and no word of a chat."""

import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from io import StringIO
from pathlib import Path
from typing import Any

from django.test import override_settings
from django.utils import timezone

from config import logs
from config.health import MISSED_SWEEPS
from memorybank import services
from memorybank.models import Bank, Chat, LLMCall, PromptCount, Sweep
from memorybank.tasks import sweep
from tests.site.test_production_settings import PRODUCTION, python
from tests.support.cast import Cast, scripted, with_chat_model, without_models
from tests.support.commands import run
from tests.support.factories import say

CANARY = "quokka4711"
NOWHERE = "redis://127.0.0.1:1/0"


@contextmanager
def logged(formatter: logging.Formatter) -> Iterator[StringIO]:
    """What the site's handler would write meanwhile."""
    written = StringIO()
    handler = logging.StreamHandler(written)
    handler.setFormatter(formatter)
    loggers = [logging.getLogger(name) for name in ("", "django")]  # the second one passes nothing up
    for logger in loggers:
        logger.addHandler(handler)
    try:
        yield written
    finally:
        for logger in loggers:
            logger.removeHandler(handler)


@without_models
class ReadyTest(Cast):
    def ready(self) -> tuple[int, list[str]]:
        answer = self.client.get("/readyz")
        return answer.status_code, answer.json()["missing"]

    def test_it_lives_whatever_is_missing(self) -> None:
        with override_settings(CELERY_BROKER_URL=NOWHERE, CELERY_BROKER_TRANSPORT_OPTIONS={}):
            self.assertEqual(self.client.get("/healthz").status_code, 200)

    def test_it_is_ready_once_somebody_sweeps(self) -> None:
        self.assertEqual(self.ready(), (503, ["sweep"]))
        sweep.apply()
        self.assertEqual(self.ready(), (200, []))

    def test_sweeps_that_ceased_are_missing(self) -> None:
        for age, missing in ((MISSED_SWEEPS - 1, []), (MISSED_SWEEPS + 1, ["sweep"])):
            Sweep.objects.record_start(timezone.now() - age * timedelta(seconds=60))
            self.assertEqual(self.ready()[1], missing)

    def test_a_sweep_in_the_foreground_is_one_unless_its_time_is_pretended(self) -> None:
        run("run_memory", "--now", "2026-03-02T10:00:00Z")
        self.assertFalse(Sweep.objects.exists())
        run("run_memory", "--project", "acme/apollo")
        self.assertFalse(Sweep.objects.exists())
        run("run_memory")
        self.assertEqual(self.ready()[0], 200)

    def test_a_broker_that_is_down_is_missing_and_its_address_is_not_told(self) -> None:
        sweep.apply()
        with override_settings(CELERY_BROKER_URL=NOWHERE, CELERY_BROKER_TRANSPORT_OPTIONS={}):
            self.assertEqual(self.ready(), (503, ["broker"]))
        with override_settings(CELERY_BROKER_TRANSPORT_OPTIONS={"data_folder_out": "/nowhere"}):
            self.assertEqual(self.ready(), (503, ["broker"]))

    def test_nobody_need_sign_in(self) -> None:
        self.assertNotEqual(self.client.get("/readyz").status_code, 302)

    @override_settings(SECURE_SSL_REDIRECT=True)
    def test_machines_within_ask_plainly(self) -> None:
        self.assertEqual(self.client.get("/healthz").status_code, 200)
        self.assertEqual(self.client.get("/login/").status_code, 301)


def test_a_database_that_is_down_is_missing_and_the_site_lives(tmp_path: Path) -> None:
    ask = """if True:
        import django
        django.setup()
        from django.test import Client
        for page in ("healthz", "readyz", "metrics"):
            answer = Client().get(f"/{page}", headers={"host": "127.0.0.1"}, secure=True)
            print(answer.status_code, answer.content.decode().strip())
    """
    nowhere = {"DATABASE_URL": "postgres://nobody:secret@127.0.0.1:1/none", "STATIC_ROOT": str(tmp_path)}
    result = python("-W", "ignore", "-c", ask, data=tmp_path, DJANGO_SETTINGS_MODULE="config.settings", **nowhere)
    lines = result.stdout.splitlines()
    assert lines[0] == "200 alive", result.stderr
    assert lines[1] == '503 {"ready": false, "missing": ["database", "sweep"]}'
    assert lines[2] == "503 database"
    assert "secret" not in result.stdout


@without_models
class MetricsTest(Cast):
    def setUp(self) -> None:
        super().setUp()
        self.switch_on(self.apollo)

    def figures(self, **headers: str) -> dict[str, float]:
        answer = self.client.get("/metrics", headers=headers)
        self.assertEqual(answer.status_code, 200)
        lines = [line for line in answer.content.decode().splitlines() if not line.startswith("#")]
        return {name.removeprefix("memorybank_"): float(value) for name, value in (line.split() for line in lines)}

    def test_it_says_what_waits_and_for_how_long(self) -> None:
        say(self.apollo.bank, "c1", "Hello", at=timezone.now() - timedelta(minutes=30))
        figures = self.figures()
        self.assertEqual(figures["chats_due"], 1)
        self.assertAlmostEqual(figures["lag_seconds"], 20 * 60, delta=120)
        Chat.objects.update(parked_at=timezone.now(), due_at=None)
        figures = self.figures()
        self.assertEqual((figures["chats_due"], figures["chats_parked"], figures["lag_seconds"]), (0, 1, 0))

    def test_it_says_for_how_long_a_block_has_not_been_made_anew(self) -> None:
        self.apollo.bank.consolidate_at = timezone.now() - timedelta(minutes=7)
        self.apollo.bank.save()
        self.assertAlmostEqual(self.figures()["block_age_seconds"], 7 * 60, delta=60)
        services.run(bank=self.apollo.bank)
        self.assertEqual(self.figures()["block_age_seconds"], 0)

    def test_it_says_what_models_did_today(self) -> None:
        now = timezone.now()
        today = {"bank": self.apollo.bank, "purpose": "summary", "model": "m", "prompt_tokens": 900}
        LLMCall.objects.create(**today, completion_tokens=90, cost="0.25", outcome="ok", at=now)
        LLMCall.objects.create(**today, outcome="unavailable", error="HTTP 500", at=now)
        LLMCall.objects.create(**today, outcome="ok", at=now - timedelta(days=1))
        figures, ok = self.figures(), 'purpose="summary",outcome="ok"'
        self.assertEqual(figures[f"calls_total{{{ok}}}"], 1)
        self.assertEqual(figures[f"prompt_tokens_total{{{ok}}}"], 900)
        self.assertEqual(figures[f"completion_tokens_total{{{ok}}}"], 90)
        self.assertEqual(figures[f"cost_total{{{ok}}}"], 0.25)
        self.assertEqual(figures['failures_total{purpose="summary",outcome="unavailable"}'], 1)
        self.assertNotIn(f"failures_total{{{ok}}}", figures)

    def test_it_counts_prompts_that_were_given_memory_and_why_others_were_not(self) -> None:
        now = timezone.now()

        def prompt(bank: Bank) -> None:
            memory = services.prompt_memory(bank, question="When?", now=now)
            services.record_sent_prompt(bank, chat_key="c1", memory=memory, now=now)

        prompt(self.apollo.bank)
        self.remember(self.apollo, "bob", "The launch is on 17 May 2026 in Lisbon.")
        for _ in range(3):
            prompt(self.apollo.bank)
        services.prompt_memory(self.apollo.bank, question="When?", now=now)  # looked at, not sent
        prompt(self.zeus.bank)
        figures = self.figures()
        self.assertEqual(figures["injected_total"], 3)
        self.assertEqual(figures['skipped_total{reason="nothing"}'], 1)
        self.assertEqual(figures['skipped_total{reason="off"}'], 1)
        self.assertEqual(PromptCount.objects.count(), 3)

    def test_a_message_to_a_model_is_counted_once(self) -> None:
        chat = self.begin_chat(self.bob, self.apollo)
        self.say(self.bob, chat, "Hello")
        self.client.get(self.chat_url(chat))
        self.assertEqual(self.figures()['skipped_total{reason="nothing"}'], 1)

    def test_it_costs_the_same_whatever_history_holds(self) -> None:
        with self.assertNumQueries(9):
            self.figures()
        for chat in range(5):
            say(self.zeus.bank, f"c{chat}", "Hello")
            self.remember(self.apollo, "bob", f"The launch is on {chat + 1} May 2026.", f"c{chat}")
        with self.assertNumQueries(9):
            self.figures()

    def test_it_is_for_this_machine_unless_there_is_a_token(self) -> None:
        self.assertEqual(self.client.get("/metrics", REMOTE_ADDR="192.0.2.7").status_code, 404)
        self.assertEqual(self.client.get("/metrics", REMOTE_ADDR="").status_code, 404)
        for name in ("X-Forwarded-For", "Forwarded", "X-Real-IP"):  # a proxy on this machine asks for others
            self.assertEqual(self.client.get("/metrics", headers={name: "192.0.2.7"}).status_code, 404)
        with override_settings(METRICS_TOKEN="sesame"):
            for given in ("", "Bearer", "Bearer sesam", "sesame"):
                self.assertEqual(self.client.get("/metrics", headers={"Authorization": given}).status_code, 404)
            self.figures(Authorization="Bearer sesame")


class LogTest(Cast):
    def canary(self) -> Chat:
        """Said in a chat, remembered, asked, and in the words of an error that nobody expected."""
        self.switch_on(self.apollo)
        self.remember(self.apollo, "bob", f"The launch of {CANARY} is on 17 May 2026 in Lisbon.")
        chat = self.begin_chat(self.bob, self.apollo)
        self.client.raise_request_exception = False
        scripted().enqueue("Noted.", ValueError(f"cannot encode {CANARY}"))
        self.say(self.bob, chat, f"What of {CANARY}?")
        self.assertEqual(self.say(self.bob, chat, f"And {CANARY}?").status_code, 500)
        return chat

    @with_chat_model()
    def test_no_page_of_it_and_no_line_holds_what_was_said(self) -> None:
        for formatter in (logs.JSONFormatter(), logs.RedactingFormatter("{asctime} {request_id} {message}", style="{")):
            Chat.objects.all().delete()
            with logged(formatter) as written:
                self.canary()
                sweep.apply()
            self.assertIn("ValueError", written.getvalue())
            self.assertIn("scripted.py", written.getvalue())
            self.assertNotIn(CANARY, written.getvalue())
        for page in ("healthz", "readyz", "metrics"):
            text = self.client.get(f"/{page}").content.decode()
            for word in (CANARY, "acme", "apollo", "Acme", "bob", "launch"):
                self.assertNotIn(word, text)

    def test_the_development_server_logs_no_question(self) -> None:
        record = logging.LogRecord(
            "django.server", 20, "", 1, '"%s" %s', (f"GET /p/?ask={CANARY} HTTP/1.1", "200"), None
        )
        logs.without_query(record)
        self.assertEqual(record.getMessage(), '"GET /p/ HTTP/1.1" 200')

    @with_chat_model()
    def test_json_is_one_object_a_line_with_its_request(self) -> None:
        with logged(logs.JSONFormatter()) as written:
            answer = self.client.get("/p/none/none/", headers={"X-Request-ID": "trace-1"})
            self.client.force_login(self.bob)
            missed = self.client.get("/p/none/none/")
        lines = [json.loads(line) for line in written.getvalue().splitlines()]
        self.assertEqual(answer.headers["X-Request-ID"], "trace-1")
        names = {name: lines[-1][name] for name in ("level", "logger", "message", "request")}
        request = missed.headers["X-Request-ID"]
        expected: dict[str, Any] = {"level": "WARNING", "logger": "django.request", "request": request}
        self.assertEqual(names, {**expected, "message": "Not Found: /p/none/none/"})
        self.assertRegex(request, r"^[0-9a-f]{32}$")

    def test_a_request_names_itself_only_if_it_is_sane(self) -> None:
        for name, kept in (("Root=1-67:ab", False), ("a.b_c-D:9", True), ("", False), ("two words", False)):
            answered = self.client.get("/healthz", headers={"X-Request-ID": name}).headers["X-Request-ID"]
            self.assertEqual(answered == name, kept, name)
        for name in ("x" * 65, 'a"}\r\nforged', "é"):
            answered = self.client.get("/healthz", headers={"X-Request-ID": name}).headers["X-Request-ID"]
            self.assertRegex(answered, r"^[0-9a-f]{32}$")


def test_the_form_of_the_log_is_a_setting(tmp_path: Path) -> None:
    speak = "import django; django.setup(); import logging; logging.getLogger('projects').info('output %s', 7)"
    env = {"DJANGO_SETTINGS_MODULE": "config.settings", **PRODUCTION}
    logs = {form: python("-c", speak, data=tmp_path, LOG_FORMAT=form, **env).stderr for form in ("line", "json", "xml")}
    assert "INFO projects [-]: output 7" in logs["line"]
    assert json.loads(logs["json"])["message"] == "output 7"
    assert "LOG_FORMAT: “xml” is neither line nor json." in logs["xml"]
