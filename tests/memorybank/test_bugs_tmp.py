import pytest
from datetime import timedelta
from django.db.models import F
from memorybank import services, summarising, rollup, rendering
from memorybank.exceptions import *
from memorybank.models import *
from .factories import *

pytestmark = pytest.mark.django_db


def test_rebuild_watermark(model, tuned):
    tuned(REBUILD_AFTER_UPDATES=1, TURNS_PER_SUMMARY=3, DUE_AFTER_TURNS=2)
    bank = make_bank()
    for n in range(12):
        talk(bank, "c", [n], at=MONDAY + n * HOUR)
        run(MONDAY + n * HOUR + 30 * MINUTE)
        assert sound(bank)
        assert chat_of(bank, "c").pending_outputs == 0


def test_private_block(model):
    bank = make_bank()
    talk(bank, "a", [1, 2])
    talk(bank, "b", [3, 4])
    run(MONDAY + HOUR)
    services.set_private(bank, chat_key="a", private=True, actor="x", now=MONDAY + HOUR)
    assert tag(3) in services.prompt_block(bank.pk)[0]


def test_enable_block(model):
    bank = make_bank()
    talk(bank, "a", [1, 2])
    run(MONDAY + HOUR)
    services.disable(bank, actor="a", now=MONDAY + HOUR)
    services.configure(bank, actor="a", now=MONDAY + HOUR, max_tokens=500)
    services.enable(bank, actor="a", disclosure_accepted=True, now=MONDAY + HOUR)
    run(MONDAY + 2 * HOUR)
    assert tag(1) in services.prompt_block(bank.pk)[0]


@pytest.mark.parametrize("how", ["garbage", "500"])
def test_starvation(model, how):
    def answer(messages):
        if "POISON" in prompt_of(messages):
            if how == "500":
                raise LLMUnavailable("HTTP 500")
            return "no"
        return note_taker(messages)

    model.answer = answer
    bad = [make_bank() for _ in range(4)]
    for i, b in enumerate(bad):
        say(b, f"p{i}", "The POISON is in here for everybody to see.", at=MONDAY)
    good = make_bank()
    talk(good, "g", [1], at=MONDAY + HOUR)
    now = MONDAY + 2 * HOUR
    for _ in range(60):
        now += 10 * MINUTE
        services.run(now=now)
    assert chat_of(good, "g").pending_outputs == 0
    print(len(model.history))


def test_same_now_pardon(model):
    model.answer = refusing("POISON")
    bank = make_bank()
    say(bank, "p", "The POISON is in here.", at=MONDAY)
    for n in range(50):
        talk(bank, f"c{n}", [n], at=MONDAY + MINUTE)
    run(MONDAY + HOUR)
    bad = [m for m in model.history if "POISON" in prompt_of(m)]
    assert len(bad) <= 2


def test_bank_deleted(model, django_db_blocker):
    bank = make_bank()
    talk(bank, "a", [1])
    model.answer = meanwhile(lambda: Bank.objects.filter(pk=bank.pk).delete())
    services.run(now=MONDAY + HOUR)


def test_surrogates(model):
    bank = make_bank()
    say(bank, "a", "hello", messages=[{"role": "tool", "content": "lone \ud800 and \x00"}])
    try:
        say(bank, "a", "hello", messages=[{"role": "tool", "content": float("nan")}])
    except InvalidInput:
        pass


def test_until_idle_poison(model):
    model.answer = refusing("POISON")
    bank = make_bank()
    for n in range(12):
        say(bank, f"p{n}", "The POISON is in here.", at=MONDAY)
    for n in range(15):
        talk(bank, f"c{n}", [n], at=MONDAY + MINUTE)
    r = run(MONDAY + HOUR)
    print(r)
    assert r.summarised == 15


def test_stale_rollup(model):
    bank = make_bank(max_tokens=200)
    for d in range(4):
        for c in range(4):
            talk(bank, f"d{d}c{c}", range(d * 100 + c * 10, d * 100 + c * 10 + 3), at=MONDAY + d * DAY)
        run(MONDAY + d * DAY + HOUR) if d == 0 else None
    now = MONDAY + 10 * DAY
    for c in Chat.objects.filter(pending_outputs__gt=0):
        summarising.summarise_chat(c.pk, now=now)

    def extend():
        say(bank, "d0c0", "One more thing about the crane has to be said here.", at=now)
        summarising.summarise_chat(chat_of(bank, "d0c0").pk, now=now, even_if_busy=True)

    model.enqueue(meanwhile(extend))
    print(Entry.objects.values_list("granularity", "parent").count(), Entry.objects.filter(granularity="day").count())
    n = rollup.compress(bank.pk, now=now)
    bank.refresh_from_db()
    print(n, bank.compress_at, rollup._frontier(bank))
    from memorybank import ladder

    assert not ladder.ripe(rollup._frontier(bank), now, bank.tz) or (bank.compress_at and bank.compress_at <= now)
