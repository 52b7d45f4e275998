"""LangChain: a chat, structured output by a forced tool, a question rewritten, and a history summarised."""

from langchain_anthropic import ChatAnthropic
from langchain_core.messages import HumanMessage
from langchain_core.prompts import PromptTemplate
from langchain_openai import ChatOpenAI
from pydantic import BaseModel


class Choice(BaseModel):
    """The database that a component gets."""

    name: str
    engine: str


model = ChatOpenAI(model="small")
history = [HumanMessage("We decided on PostgreSQL 16 for the ledger.")]
history.append(model.invoke(history))
history.append(HumanMessage("And when do we move?"))
history.append(model.invoke(history))
model.with_structured_output(Choice, method="function_calling").invoke("Ledger gets PostgreSQL 16: which engine?")
model.with_structured_output(Choice, method="json_schema").invoke("Ledger gets PostgreSQL 16: which engine is it?")
ChatAnthropic(model="small", max_tokens=500).with_structured_output(Choice).invoke(
    "Claude, which engine has the ledger?"
)

talk = "\n".join(f"{'Human' if isinstance(m, HumanMessage) else 'AI'}: {m.content}" for m in history)
rewrite = PromptTemplate.from_template(
    "Put the follow-up question so that it stands alone.\n\nChat history:\n{talk}\nFollow-up: {question}\nAlone:"
)
(rewrite | model).invoke({"talk": talk, "question": "Who does it?"})
(PromptTemplate.from_template("Summarise this conversation.\n\n{talk}") | model).invoke({"talk": talk})
