"""instructor: a structured answer by a forced tool, and one in JSON, each after a validation that failed."""

import instructor
from openai import OpenAI
from pydantic import BaseModel, field_validator

tries = {"tools": 0, "json": 0}


def model(kind: str) -> type[BaseModel]:
    class Choice(BaseModel):
        name: str
        engine: str

        @field_validator("engine")
        @classmethod
        def second_time(cls, engine: str) -> str:
            tries[kind] += 1
            if tries[kind] == 1:
                raise ValueError("Name the version, too.")
            return engine

    return Choice


for kind, mode in (("tools", instructor.Mode.TOOLS), ("json", instructor.Mode.JSON)):
    client = instructor.from_openai(OpenAI(), mode=mode)
    asked = [{"role": "user", "content": f"The ledger gets PostgreSQL 16, by {kind}."}]
    client.chat.completions.create(model="small", messages=asked, response_model=model(kind), max_retries=2)
