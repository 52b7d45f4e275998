"""Current beside replaced values in the sample's blocks: how many current ones are shown, how many only as before.

Command: python -m benchmarks standing

The sample's README lists the changes and answers planted in it. Each has a pattern that only the current value matches, and
one for earlier values.
"""

import re

from memorybank import services
from projects.importing import demo
from projects.models import Project

from . import scratch
from .measuring import Measurement
from .quality import replayed

BUDGET_TOKENS = (500, 1_000, 1_500, 2_000, 3_000, 4_000)

#: Project → now, before (empty: nothing was known).
CHANGES = {
    "billing-migration": {
        "9 June": "(12|26) May",
        "PostgreSQL": "MySQL",
        "belong to Marta|Marta.{0,40}reconcil": "reconcil.{0,40}Tom",
        "0[.,]14": "0[.,]19",
        "10 years": "7 years|Seven years",
        "NWC-": "NW-2026",
        "Brennan": "",
        "opening-balance": "",
        "X-Request-Ref": "",
    },
    "patient-app": {
        "passkey": "SMS",
        "5 May": "20 April",
        "Careline": "Northwind Me",
        "48 h": "24 h",
        "iOS.{0,20}16": "iOS 15",
        "push.{0,60}Tom|Tom.{0,60}push": "Jonas.{0,40}push",
        "14 (Tage|days)": "30 (Tage|days)",
        "1[.]1": "",
        "Lumicall": "",
        "Klarblick": "",
    },
    "gripper-v2": {
        "Brantner|71[.,]50": "Kitahama|84[.,]00",
        "8 May": "17 April",
        "EtherCAT": "CANopen",
        "silicone|Shore": "TPU",
        "2[.]8 kg": "3 kg|2[.]5 kg",
        "mateo.{0,60}certif|certif.{0,60}mateo": "dana.{0,40}certif",
        "29 June": "13 July",
        "15 September": "1 September",
        "IP54": "",
        "grease": "",
    },
    "trade-fair": {"B6-031": "B4-112", "44,500": "38,000"},
}


def measure() -> list[Measurement]:
    """One row a budget."""
    with scratch.database():
        replayed(list(demo.load_sample()))
        return [_row(budget) for budget in BUDGET_TOKENS]


def _row(budget: int) -> Measurement:
    current_count, earlier_count, change_count = 0, 0, 0
    for project in Project.objects.select_related("bank").filter(slug__in=CHANGES):
        block = services.render(project.bank, budget=budget).text
        for now, earlier in CHANGES[project.slug].items():
            change_count += 1
            if re.search(now, block, re.IGNORECASE):
                current_count += 1
            elif earlier and re.search(earlier, block, re.IGNORECASE):
                earlier_count += 1
    return Measurement(
        f"{budget:,} tokens: what holds now, of {change_count}",
        f"{current_count}, only what held before: {earlier_count}",
    )
