"""Record a model's answers to the prompts of the sample's replay, for `demo`.

    python -m benchmarks.record_sample FOLDER

replays the sample into a fresh database in FOLDER. A prompt without an answer is written to FOLDER/prompts/KEY.txt, the
system prompt first; write its answer to FOLDER/answers/KEY.txt and run again, until none is missing. The answers that
are needed become projects/importing/sample/answers.jsonl. Answers in that file are used as long as their prompts stay
the same.
"""

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path

USAGE = "usage: python -m benchmarks.record_sample FOLDER"


def record(folder: Path) -> int:
    """Replay once; the number of prompts that had no answer."""
    from django.core.management import call_command

    from memorybank import llm
    from memorybank.llm.recorded import read_answers
    from projects.importing import demo
    from projects.importing.replay import replay

    answers = read_answers(str(demo.ANSWERS_FILE)) if demo.ANSWERS_FILE.exists() else {}
    answers |= {path.stem: path.read_text(encoding="utf-8").strip() for path in (folder / "answers").glob("*.txt")}
    write_answers(demo.ANSWERS_FILE, answers)
    read_answers.cache_clear()
    model = demo.recorded_model()
    call_command("migrate", verbosity=0)
    lines = demo.load_sample()
    demo.create_people(lines)
    with llm.using("summary", model):
        replay(lines, step=demo.REPLAY_STEP, prepare=demo.prepare)
        demo.catch_up()
    for key, messages in model.missing.items():
        prompt = "\n\n=====\n\n".join(message["content"] for message in messages)
        (folder / "prompts" / f"{key}.txt").write_text(prompt, encoding="utf-8")
    write_answers(demo.ANSWERS_FILE, {key: answers[key] for key in model.used})
    return len(model.missing)


def write_answers(file: Path, answers: Mapping[str, str]) -> None:
    """Write them as :class:`RecordedLLM` reads them."""
    rows = (json.dumps({"prompt": key, "answer": answers[key]}, ensure_ascii=False) for key in sorted(answers))
    file.write_text("".join(f"{row}\n" for row in rows), encoding="utf-8")


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit(USAGE)
    folder = Path(sys.argv[1]).resolve()
    for name in ("prompts", "answers"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    for old in (folder / "prompts").glob("*.txt"):
        old.unlink()
    (folder / "memorybank.sqlite3").unlink(missing_ok=True)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    os.environ["DATA_DIR"] = str(folder)
    import django

    django.setup()
    missing = record(folder)
    print(f"{missing} prompts have no answer yet." if missing else "Every prompt has an answer.")


if __name__ == "__main__":
    main()
