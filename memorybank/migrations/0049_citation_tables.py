"""What facts and digests rest on moves from JSON arrays of ids to tables with foreign keys.

Ids of rows that are gone are left behind. Going back, the arrays are made again.
"""

import django.db.models.deletion
from django.db import migrations, models

AT_ONCE = 2_000


def to_rows(apps, schema_editor):
    get = lambda name: apps.get_model("memorybank", name)
    leaf = models.Q(entry__granularity="conversation")
    facts = get("Fact").objects
    _link(facts.filter(leaf), "citations", get("FactOutput"), "fact_id", "output_id", get("Output"))
    _link(facts.exclude(leaf), "citations", get("FactSource"), "fact_id", "source_id", get("Fact"))
    _link(get("Entry").objects.exclude(kept=[]), "kept", get("KeptFact"), "entry_id", "fact_id", get("Fact"))


def _link(rows, column, table, on, to, cited):
    some = []
    for row in rows.order_by("pk").values_list("pk", column).iterator(chunk_size=AT_ONCE):
        some.append(row)
        if len(some) == AT_ONCE:
            _write(some, table, on, to, cited)
            some = []
    _write(some, table, on, to, cited)


def _write(rows, table, on, to, cited):
    named = {pk for _, ids in rows for pk in ids}
    there = set(cited.objects.filter(pk__in=named).values_list("pk", flat=True))
    table.objects.bulk_create(
        table(**{on: pk, to: each}) for pk, ids in rows for each in dict.fromkeys(ids) if each in there
    )


def to_arrays(apps, schema_editor):
    for name, table, on, to in (
        ("Fact", "FactOutput", "fact_id", "output_id"),
        ("Fact", "FactSource", "fact_id", "source_id"),
        ("Entry", "KeptFact", "entry_id", "fact_id"),
    ):
        arrays = {}
        for pk, each in apps.get_model("memorybank", table).objects.order_by("pk").values_list(on, to).iterator():
            arrays.setdefault(pk, []).append(each)
        column, rows = "kept" if name == "Entry" else "citations", apps.get_model("memorybank", name).objects
        for pk, ids in arrays.items():
            rows.filter(pk=pk).update(**{column: ids})


def _table(name, on, to, constraint, index):
    """A table of pairs of rows: what rests on something goes with its own row (``on``)."""
    (own, its_model, links), (other, model, back, on_delete, indexed) = on, to
    key = {"db_index": False, "to": f"memorybank.{its_model}", "related_name": links}
    return migrations.CreateModel(
        name,
        fields=[
            ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
            (own, models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, **key)),
            (
                other,
                models.ForeignKey(
                    db_index=indexed, on_delete=on_delete, related_name=back, to=f"memorybank.{model}"
                ),
            ),
        ],
        options={
            "ordering": ["pk"],
            "constraints": [models.UniqueConstraint(fields=(own, other), name=constraint)],
            "indexes": [models.Index(fields=[other], name=index)] if index else [],
        },
    )


CASCADE, DO_NOTHING = django.db.models.deletion.CASCADE, django.db.models.deletion.DO_NOTHING


class Migration(migrations.Migration):
    dependencies = [("memorybank", "0048_drop_line_periods")]

    operations = [
        _table(
            "factoutput",
            ("fact", "fact", "output_links"),
            ("output", "output", "fact_links", DO_NOTHING, False),
            "fact_cites_output_once",
            "fact_output_cited",
        ),
        _table(
            "factsource",
            ("fact", "fact", "source_links"),
            ("source", "fact", "restating_links", DO_NOTHING, False),
            "fact_rests_on_source_once",
            "fact_source_restated",
        ),
        _table(
            "keptfact",
            ("entry", "entry", "kept_links"),
            ("fact", "fact", "kept_links", CASCADE, True),
            "entry_keeps_fact_once",
            "",
        ),
        migrations.RemoveConstraint("fact", "fact_cites_something"),
        migrations.RunPython(to_rows, to_arrays),
        # With a default, so that the column can be made again.
        migrations.AlterField("fact", "citations", models.JSONField(default=list)),
        migrations.RemoveField("fact", "citations"),
        migrations.RemoveField("entry", "kept"),
        migrations.AddField(
            "fact",
            "outputs",
            models.ManyToManyField(
                help_text="The turns that a leaf's fact cites.",
                related_name="facts",
                through="memorybank.FactOutput",
                to="memorybank.output",
            ),
        ),
        migrations.AddField(
            "fact",
            "sources",
            models.ManyToManyField(
                help_text="The leaf facts that a digest's line rests on.",
                related_name="restated_by",
                through="memorybank.FactSource",
                through_fields=("fact", "source"),
                to="memorybank.fact",
            ),
        ),
        migrations.AddField(
            "entry",
            "kept",
            models.ManyToManyField(
                help_text="Leaf facts that a digest stands for as they are.",
                related_name="kept_in",
                through="memorybank.KeptFact",
                to="memorybank.fact",
            ),
        ),
    ]
