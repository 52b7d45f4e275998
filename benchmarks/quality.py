"""What memory retains: replay a log, render blocks at several budgets, and look for the answers to questions.

python -m benchmarks.quality --log LOG --qa QA [--transcript]. LOG is in the import format; a line of QA is
{"qid", "project", "question", "answer", "category", "literal"}, and "evidence_chats", the keys of the chats
that hold the answer, if recall is to be scored, too. See ``retention`` for the score of a block.
"""

import argparse
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from pathlib import Path
from statistics import fmean
from typing import Any

from django.conf import settings
from django.utils import timezone
from tqdm import tqdm

from memorybank import services
from memorybank.language import dates, tokens
from memorybank.models import Bank
from memorybank.services import RunReport
from projects.importing.jsonl import BadLineError, ImportLine, LineReader
from projects.importing.replay import replay
from projects.models import Project

from . import scratch
from .retention import Examination, Question, Result, Scored

BUDGET_TOKENS = (500, 1_000, 2_000, 4_000, 8_000)
QUESTION_BUDGET_TOKENS = (250, 500, 600, 1_000, 2_000)
#: Of the hits of recall so many are looked at, for the first distinct chats among them.
MAX_HITS, CHAT_RANKS = 100, (5, 10)
INTERVAL = timedelta(hours=24)
#: The block that notes stand beside.
BLOCK_TOKENS = 2_000


@dataclass(frozen=True, slots=True)
class Row:
    """One kind of block: its results, and what it cost."""

    name: str
    results: dict[int, Result]
    cost: str = ""


@dataclass(frozen=True, slots=True)
class Task:
    """What is measured."""

    lines: list[ImportLine]
    questions: list[Question]
    budgets: tuple[int, ...]
    question_budgets: tuple[int, ...]
    asked: int
    blocks: Path | None = None


def read_log(path: Path, *, transcript: bool = False) -> list[ImportLine]:
    """Every line of a log; a bad one ends the benchmark, because it would falsify the score, and so would answers of
    people that count as a model's: what looks like a transcript is read as one.
    """
    reader, lines = LineReader(timezone.now(), transcript), []
    with path.open(encoding="utf-8") as file:
        for line in reader.read(file):
            if isinstance(line, BadLineError):
                raise SystemExit(f"{path}: {line}")
            lines.append(line)
    return read_log(path, transcript=True) if reader.hint else lines


def read_questions(path: Path) -> list[Question]:
    """Every question of a file; fields that the score does not use are ignored."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    known = Question.__dataclass_fields__
    return [Question(**{name: value for name, value in row.items() if name in known}) for row in rows]


def recent_turns(task: Task) -> Iterator[Scored]:
    """What everybody starts with: the newest raw turns that fit."""
    for project in sorted({line.project for line in task.lines}):
        own = sorted(
            (line for line in task.lines if line.project == project),
            key=lambda line: (line.output.created_at, line.number),
        )
        written = [_written(line) for line in own]
        for budget in task.budgets:
            yield Scored(project, budget, _newest(written, budget))


def _written(line: ImportLine) -> str:
    text = f"{line.output.question}\n{line.output.answer}".strip()
    return f"{dates.format_date(line.output.created_at.date())}\n{text}"


def _newest(turns: Sequence[str], budget: int) -> str:
    kept = 0
    while kept < len(turns) and tokens.count("\n".join(turns[len(turns) - kept - 1 :])) <= budget:
        kept += 1
    return "\n".join(turns[len(turns) - kept :])


def rendered(task: Task) -> Iterator[Scored]:
    """Our block, the same for every question."""
    for project in Project.objects.select_related("bank"):
        for budget in task.budgets:
            yield Scored(project.slug, budget, services.render(project.bank, budget=budget).text)


def asked(task: Task) -> Iterator[tuple[Question, Bank]]:
    """Each literal question with its bank; evenly drawn ones, if that is too many."""
    literal = [question for question in task.questions if question.literal]
    step = max(1, len(literal) // task.asked) if task.asked else 1
    banks = {project.slug: project.bank for project in Project.objects.select_related("bank")}
    for question in tqdm(literal[::step], unit=" questions", disable=None, leave=False):
        if question.project in banks:
            yield question, banks[question.project]


def recalled_alone(task: Task) -> Iterator[Scored]:
    """Notes for each question, as if there were no block."""
    for question, bank in asked(task):
        for budget in task.question_budgets:
            rendered = services.render(bank, budget=0, recall_budget=budget, question=question.question)
            yield Scored(question.project, budget, rendered.recalled.text, question.qid)


def recalled_beside(task: Task) -> Iterator[Scored]:
    """What a chat is given: the stored block and notes beside it; scored together at the sum of both budgets."""
    for budget in task.question_budgets:
        for question, bank in asked(task):
            services.configure(bank, actor="benchmark", recall_tokens=budget)
            memory = services.prompt_memory(bank, question=question.question)
            text = f"{memory.block.text}\n{memory.recalled.text}"
            yield Scored(question.project, bank.max_tokens + budget, text, question.qid)


def evidence_found(task: Task) -> str:
    """The share of each question's evidence chats that are among the first chats recalled for it; all questions."""
    banks = {project.slug: project.bank for project in Project.objects.select_related("bank")}
    shares: dict[int, list[float]] = {first: [] for first in CHAT_RANKS}
    for question in task.questions:
        if question.evidence_chats and question.project in banks:
            hits = services.recall(banks[question.project], question.question, top=MAX_HITS)
            recalled = list(dict.fromkeys(hit.chat for hit in hits))
            wanted = set(question.evidence_chats)
            for first, share in shares.items():
                share.append(len(wanted.intersection(recalled[:first])) / len(wanted))
    return ", ".join(f"evidence chats @{first} {fmean(share):.3f}" for first, share in shares.items() if share)


def remembered(task: Task, name: str, models: dict[str, Any]) -> Iterator[Row]:
    """Replay into a scratch database with these models, then score the blocks of it."""
    with scratch.database(LLMS=models):
        report = replayed(task.lines)
        chats = len({(line.path, line.output.chat_key) for line in task.lines})
        yield _row(task, f"our block, {name}", list(rendered(task)), _cost(report, chats))
        yield _row(task, f"recalled alone, {name}", list(recalled_alone(task)), evidence_found(task))
        yield _row(task, f"recalled beside {BLOCK_TOKENS:,}, {name}", list(recalled_beside(task)), beside=BLOCK_TOKENS)


def replayed(lines: Sequence[ImportLine]) -> RunReport:
    """The lines become memory as time passes; every bank remembers."""

    def prepare(bank: Bank, _: datetime) -> None:
        services.enable(bank, actor="benchmark", disclosure_accepted=True)

    with tqdm(total=len(lines), unit=" turns", disable=None, leave=False) as bar:
        return replay(lines, step=INTERVAL, prepare=prepare, progress=lambda _, fed: bar.update(fed - bar.n) and None)


def _cost(report: RunReport, chats: int) -> str:
    spent = report.prompt_tokens + report.completion_tokens
    failed = f", {report.failed} FAILED, {report.due} still due" if report.failed or report.due else ""
    return f"{report.seconds / chats * 1000:.0f} ms and {spent / chats:,.0f} LLM tokens/chat{failed}"


def _row(task: Task, name: str, blocks: list[Scored], cost: str = "", *, beside: int = 0) -> Row:
    """Scored; what stands beside a block of so many tokens is shown under its own budget."""
    if task.blocks:
        with task.blocks.open("a", encoding="utf-8") as file:
            for block in blocks:
                row = {key: value for key, value in asdict(block).items() if value or key == "block"}
                file.write(json.dumps({"row": name, **row}, ensure_ascii=False) + "\n")
    results = Examination(task.questions).score(blocks)
    return Row(name, {budget - beside: result for budget, result in results.items()}, cost)


def rows(task: Task, models: dict[str, Any]) -> Iterator[Row]:
    """Every row of the table, as soon as it is known."""
    yield _row(task, "most recent raw turns", list(recent_turns(task)))
    yield from remembered(task, "no LLM", {})
    if models:
        yield from remembered(task, "configured LLM", models)


def show(found: Iterable[Row], budgets: Sequence[int]) -> None:
    """Print the table: the anchored score at each budget, means of the rest, the cost."""
    columns = "".join(f"{budget:>8,}" for budget in budgets)
    print(f"{'anchored at a budget of':<32}{columns}    mean  recall temporal control  fill")
    for row in found:
        at = "".join(f"{row.results[b].anchored:>8.3f}" if b in row.results else f"{'':>8}" for b in budgets)
        means = [
            fmean(getattr(result, name) for result in row.results.values())
            for name in ("anchored", "recall", "temporal", "control", "fill")
        ]
        over = sum(result.over for result in row.results.values())
        rest = "".join(f"{mean:>8.3f}" if mean else f"{'–':>8}" for mean in means)
        warning = f"  {over} OVER BUDGET" if over else ""
        print(f"{row.name:<32}{at}{rest}  {row.cost}{warning}", flush=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality", description=__doc__)
    parser.add_argument("--log", type=Path, required=True)
    parser.add_argument("--transcript", action="store_true", help="as of import_chats")
    parser.add_argument("--qa", type=Path, required=True)
    parser.add_argument("--budgets", type=int, nargs="+", default=BUDGET_TOKENS)
    parser.add_argument("--question-budgets", type=int, nargs="+", default=QUESTION_BUDGET_TOKENS)
    parser.add_argument("--questions", type=int, default=0, metavar="N", help="question-aware: ask about N only")
    parser.add_argument("--blocks", type=Path, help="append every block to this file, as JSON Lines")
    return parser.parse_args()


def main() -> None:
    """Measure and print."""
    arguments = _arguments()
    lines, questions = read_log(arguments.log, transcript=arguments.transcript), read_questions(arguments.qa)
    task = Task(
        lines,
        questions,
        tuple(arguments.budgets),
        tuple(arguments.question_budgets),
        arguments.questions,
        arguments.blocks,
    )
    models = dict(settings.MEMORYBANK["LLMS"])
    chats = len({(line.path, line.output.chat_key) for line in lines})
    literal = sum(question.literal for question in questions)
    print(f"{len(lines):,} outputs in {chats:,} chats; {literal:,} literal questions of {len(questions):,}")
    show(rows(task, models), sorted({*task.budgets, *task.question_budgets}))
    if not models:
        print("No LLM is configured (LLM_BASE_URL or SUMMARY_LLM_BASE_URL), so there is no row with one.")


if __name__ == "__main__":
    main()
