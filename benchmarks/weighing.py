"""Fits the weights of what a sentence speaks of: python -m benchmarks.weighing [CORPUS_DIR] [--talk TURNS.jsonl].

The corpora of the tests are read, and beside them attacks.jsonl and harmless.jsonl ({"text"}) of CORPUS_DIR; TURNS.jsonl
is talk of any kind, as ``import_chats`` takes it, none of which is an attack. Logistic regression on the topics of a
sentence (or two) and on their pairs; of an attack the heaviest sentence counts, of the others each. What can only be
said of people (``AGAINST``) never adds, all else never takes away, so that nobody hides an attack behind more words.
"""

import argparse
import json
from itertools import combinations
from pathlib import Path

import numpy as np

from memorybank.safety.deobfuscation import deobfuscate
from memorybank.safety.injection_rules import TOPICS, sentence_topics
from memorybank.safety.injection_score import WEIGHTS_FILE

from .attacks import read

Rows = np.ndarray
#: Those who are called so in the corpora wrote the attacks.
AUTHORS = "mallory bob dana"
AGAINST = frozenset(["once", "us", "me", "did", "bot", "lesson", "inquires", "cited"])
CORPUS = Path("tests/memorybank/safety/corpus")
PAIRS = list(combinations(range(len(TOPICS)), 2))
NAMES = [*TOPICS, *(f"{TOPICS[one]} {TOPICS[other]}" for one, other in PAIRS)]
ADDS = np.array([AGAINST.isdisjoint(name.split()) for name in NAMES])
#: Talk that speaks of fewer topics teaches nothing.
FEWEST = 3
#: How much a weight costs, by its size and squared; what one row of talk counts; rounds, steps in each, and their size.
L1, L2, TALK = 0.0002, 0.001, 0.2
ROUNDS, STEPS, STEP = 4, 200, 0.03


def rows(text: str, by: str = "") -> Rows:
    """A row for each sentence, each two and each language of a text: what it speaks of, and which two together."""
    spoken = list(dict.fromkeys(sentence_topics(deobfuscate(text), by))) or [frozenset()]
    alone = np.array([[topic in item for topic in TOPICS] for item in spoken], dtype=np.float32)
    return np.concatenate([alone, *(alone[:, [one]] * alone[:, [other]] for one, other in PAIRS)], axis=1)


def fitted(attacks: list[Rows], others: Rows, count: Rows) -> tuple[Rows, float]:
    """The weights, and what every sentence weighs."""
    weights, bias = np.where(ADDS, 0.05, -0.05), -3.0
    for _ in range(ROUNDS):
        worst = np.array([attack[np.argmax(attack @ weights)] for attack in attacks], dtype=np.float32)
        seen = np.concatenate([worst, others])
        wanted = np.r_[np.ones(len(worst)), np.zeros(len(others))]
        shares = np.r_[np.ones(len(worst)), count]
        weights, bias = _descended(seen, wanted, shares / shares.sum(), weights, bias)
    return weights, bias


def _descended(seen: Rows, wanted: Rows, shares: Rows, weights: Rows, bias: float) -> tuple[Rows, float]:
    """Some steps downhill (Adam's)."""
    theta, mean, square = np.r_[weights, bias], np.zeros(len(weights) + 1), np.zeros(len(weights) + 1)
    for _ in range(STEPS):
        now = theta.astype(np.float32)
        error = shares * (1 / (1 + np.exp(-(seen @ now[:-1] + now[-1]))) - wanted)
        slope = np.r_[seen.T @ error.astype(np.float32) + L2 * theta[:-1] + L1 * np.sign(theta[:-1]), error.sum()]
        mean, square = 0.9 * mean + 0.1 * slope, 0.99 * square + 0.01 * slope**2
        theta = theta - STEP * mean / (np.sqrt(square) + 1e-8)
        theta[:-1] = np.where(ADDS, np.maximum(theta[:-1], 0), np.minimum(theta[:-1], 0))
    return theta[:-1], float(theta[-1])


def lines(name: str) -> list[str]:
    """One of the corpora of the tests."""
    return (CORPUS / name).read_text(encoding="utf-8").splitlines()


def main() -> None:
    """Fit them and write them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpus", type=Path, metavar="CORPUS_DIR", nargs="?", default=CORPUS)
    parser.add_argument("--talk", type=Path, action="append", default=[], metavar="TURNS.jsonl")
    arguments = parser.parse_args()
    attacks = [
        *lines("attacks.txt"),
        *lines("quiet_attacks.txt"),
        *(case["text"] for case in read(arguments.corpus, "attacks")),
    ]
    harmless = [*lines("innocents.txt"), *(case["text"] for case in read(arguments.corpus, "harmless"))]
    turns = [json.loads(line) for path in arguments.talk for line in path.read_text(encoding="utf-8").splitlines()]
    talk = [turn[said] for turn in turns[::5] for said in ("question", "answer") if turn.get(said)]
    known, heard = [np.concatenate([rows(text) for text in texts or [""]]) for texts in (harmless, talk)]
    heard = heard[heard[:, : len(TOPICS)].sum(axis=1) >= FEWEST]
    count = np.r_[np.ones(len(known)), np.full(len(heard), TALK)]
    weights, bias = fitted([rows(text, AUTHORS) for text in attacks], np.concatenate([known, heard]), count)
    fields = {"": bias, **dict(zip(NAMES, weights.tolist(), strict=True))}
    table = "\n".join(f'"{name}" = {round(100 * weight)}' for name, weight in fields.items() if round(100 * weight))
    WEIGHTS_FILE.write_text(
        f"# Weights in hundredths, by topics; written by benchmarks/weighing.py.\n[weights]\n{table}\n"
    )


if __name__ == "__main__":
    main()
