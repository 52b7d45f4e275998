"""Keep the lines of stored blocks by field, and the first day of a line's period instead of its key."""

from datetime import date

from django.db import migrations

MONTH, WEEK = 3, 2
PINNED = "pinned"
KEYS = {MONTH: "%Y-%m", WEEK: "%G-W%V"}


def start_of(key):
    return date.fromisoformat(f"{key}-01" if len(key) == len("2026-05") else key)


def by_name(line, sources):
    facts, text, tier, period, label, chat, speaker, restates, said_at, section, tokens = line
    return {
        "facts": facts,
        "text": text,
        "said_at": said_at,
        "speaker": speaker,
        "tier": tier,
        "period_start": start_of(period).isoformat(),
        "label": label,
        "chat": chat,
        "pinned": section == PINNED,
        "tokens": tokens,
        "restates": restates,
        "sources": [{"chats": sources[fact][0], "outputs": sources[fact][1]} for fact in facts],
        "section": section,
    }


def in_order(line):
    start = date.fromisoformat(line["period_start"])
    tier, get = line.get("tier", 0), line.get
    placed = [line["facts"], line["text"], tier, start.strftime(KEYS.get(tier, "%Y-%m-%d")), get("label", "")]
    said = [get("chat", ""), get("speaker", ""), get("restates", []), line["said_at"]]
    return [*placed, *said, get("section", ""), get("tokens", 0)]


def forwards(apps, schema_editor):
    for block in apps.get_model("memorybank", "StoredBlock").objects.iterator(chunk_size=100):
        sources = {fact: rest for fact, *rest in block.lines.get("sources", ())}
        parts = {part: block.lines.get(part, ()) for part in ("lines", "reserve")}
        block.lines = {part: [by_name(line, sources) for line in lines] for part, lines in parts.items()}
        block.save(update_fields=["lines"])
    for line in apps.get_model("memorybank", "BlockLineVersion").objects.iterator(chunk_size=1000):
        line.period_start = start_of(line.period)
        line.save(update_fields=["period_start"])


def backwards(apps, schema_editor):
    for block in apps.get_model("memorybank", "StoredBlock").objects.iterator(chunk_size=100):
        lines, reserve = block.lines["lines"], block.lines["reserve"]
        sources = {
            fact: [source["chats"], source["outputs"]]
            for line in (*lines, *reserve)
            for fact, source in zip(line["facts"], line.get("sources", ()), strict=True)
        }
        block.lines = {"lines": list(map(in_order, lines)), "reserve": list(map(in_order, reserve))}
        block.lines["sources"] = [[fact, *rest] for fact, rest in sorted(sources.items())]
        block.save(update_fields=["lines"])
    for line in apps.get_model("memorybank", "BlockLineVersion").objects.iterator(chunk_size=1000):
        line.period = line.period_start.strftime(KEYS.get(line.tier, "%Y-%m-%d"))
        line.save(update_fields=["period"])


class Migration(migrations.Migration):
    dependencies = [("memorybank", "0046_block_line_versions")]

    operations = [migrations.RunPython(forwards, backwards)]
