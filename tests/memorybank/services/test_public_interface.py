"""Only memorybank touches its tables: other apps use ``memorybank.services``."""

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.apps import apps

from memorybank import services

ROOT = Path(__file__).parents[3]
SITE = sorted(path for path in (ROOT / "projects").rglob("*.py") if "migrations" not in path.parts)
OWN = {model.__name__ for model in apps.get_app_config("memorybank").get_models()} | {"HashChain", "HashChainedEvent"}
#: How a local is called that holds a row of memorybank, such as ``bank`` or ``output``.
ROWS = {name.lower() for name in OWN}
#: The sets of rows that Django hangs on a row for each foreign key of memorybank, such as ``bank.facts``.
SETS = {
    accessor
    for model in apps.get_app_config("memorybank").get_models()
    for relation in model._meta.related_objects
    if relation.related_model._meta.app_label == "memorybank"
    and (accessor := relation.get_accessor_name())
    and not relation.one_to_one
}
MANAGERS = {"objects", "_default_manager", "_base_manager"}
WRITES = {"save", "delete", "update", "create", "get_or_create", "update_or_create", "refresh_from_db"}
WRITES |= {"bulk_create", "bulk_update"} | {f"a{verb}" for verb in WRITES}


def test_the_site_uses_no_manager_and_writes_no_row_of_memory() -> None:
    assert [
        violation for path in SITE for violation in past_the_face(ast.parse(path.read_text(encoding="utf-8")), path)
    ] == []


@pytest.mark.parametrize(
    "code",
    [
        "Chat.objects.filter(pk=1)",
        "services.Chat.objects.first()",
        "chat.outputs.filter(author='ann').first()",
        "for fact in project.bank.facts.all(): pass",
        "get_object_or_404(bank.erasures, pk=1)",
        "conversation.chat.save()",
        "services.turns_of(chat).filter(pk=1).update(question='')",
        "services.chats_of(bank).get(key='a').delete()",
        "chat.refresh_from_db()",
        "def change(row: Chat) -> None:\n    row.save()",
        "def change(rows: QuerySet[Output]) -> None:\n    rows.filter(pk=1).delete()",
        "rows = services.facts_of(bank).filter(pk=1)\nrows.update(hidden=True)",
        "Job.objects.create(bank=bank)",
        "fact_set = entry.fact_set.all()",
    ],
)
def test_it_would_find_a_way_past_the_services(code: str) -> None:
    assert list(past_the_face(ast.parse(code), Path("made up")))


def past_the_face(tree: ast.Module, path: Path) -> Iterator[str]:
    """Where the code of a file uses a manager, a related set or a writing method of a row of memory."""
    held = _held(tree)
    for node in ast.walk(tree):
        if not isinstance(node, ast.Attribute):
            continue
        owner = _last_name(node.value)
        is_set = (node.attr in SETS and owner in ROWS) or (node.attr.endswith("_set") and node.attr != "is_set")
        if (node.attr in MANAGERS and owner in OWN) or is_set or (node.attr in WRITES and _is_row(node.value, held)):
            yield f"{path}:{node.lineno}: {ast.unparse(node)}"


def _is_row(value: ast.expr, held: set[str]) -> bool:
    """Whether the method of this is one of a row of memory, or of a set of them."""
    return _last_name(value) in ROWS | held | OWN or _comes_from_services(value, held)


def _comes_from_services(value: ast.expr, held: set[str]) -> bool:
    """Whether it is what a service returned, or narrowed from that."""
    while isinstance(value, ast.Attribute | ast.Call | ast.Subscript):
        value = value.func if isinstance(value, ast.Call) else value.value
        if isinstance(value, ast.Name) and value.id in {"services", *held}:
            return True
    return False


def _held(tree: ast.Module) -> set[str]:
    """Names that hold rows of memory: by their annotation, or because a service returned what they are made of."""
    held = {
        node.arg
        for node in ast.walk(tree)
        if isinstance(node, ast.arg) and node.annotation and OWN & set(re.findall(r"\w+", ast.unparse(node.annotation)))
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign | ast.NamedExpr) and isinstance(node.value, ast.Call | ast.Attribute):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if _comes_from_services(node.value, set()):
                held |= {target.id for target in targets if isinstance(target, ast.Name)}
    return held


def _last_name(value: ast.expr) -> str:
    """``chat`` of ``chat`` and of ``conversation.chat``; "" of anything else."""
    if isinstance(value, ast.Attribute):
        return value.attr
    return value.id if isinstance(value, ast.Name) else ""


def test_pages_load_nothing_that_writes_memory() -> None:
    code = """if True:
        import sys, django
        django.setup()
        import projects.chat.views, projects.chat.sse, projects.memory.actions, projects.urls
        print(*sys.modules)
    """
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "config.settings"}
    loaded = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, check=True)
    late = {
        "memorybank.safety.redaction",
        "memorybank.writing.summarising",
        "memorybank.erasure.erase",
        "memorybank.worker",
    }
    assert not late & set(loaded.stdout.decode().split())


def test_a_service_that_is_imported_late_is_declared_to_type_checkers_and_no_other_is() -> None:
    tree = ast.parse(Path(services.__file__).read_text(encoding="utf-8"))
    [declared] = [node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"]
    imports = [node for node in declared.body if isinstance(node, ast.ImportFrom)]
    assert {alias.name: node.module for node in imports for alias in node.names} == services._LATE


def test_every_name_that_is_used_is_there() -> None:
    used = {
        node.attr
        for path in [*SITE, *(ROOT / "memorybank").rglob("*.py"), *(ROOT / "config").rglob("*.py")]
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "services"
    }
    assert len(used) > 50
    for name in used:
        assert getattr(services, name) is not None
