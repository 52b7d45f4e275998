// Vercel's AI SDK: two turns, a tool, and an object, with the providers for OpenAI and Anthropic.
import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { generateObject, generateText, jsonSchema, stepCountIs, streamText, tool } from "ai";

const openai = createOpenAI({ baseURL: process.env.OPENAI_BASE_URL, apiKey: process.env.OPENAI_API_KEY });
const anthropic = createAnthropic({ baseURL: process.env.OPENAI_BASE_URL, apiKey: process.env.OPENAI_API_KEY });
const text = { type: "object", properties: { engine: { type: "string" } }, required: ["engine"] };
for (const [kind, model] of [["chat", openai.chat("small")], ["claude", anthropic("small")]]) {
  const messages = [{ role: "user", content: `We decided on PostgreSQL 16 for the ledger, by ${kind}.` }];
  const first = await generateText({ model, system: "Be brief.", messages });
  messages.push({ role: "assistant", content: first.text }, { role: "user", content: `And when do we move, by ${kind}?` });
  const second = streamText({ model, system: "Be brief.", messages });
  await second.consumeStream();
  const weather = tool({ description: "Weather", inputSchema: jsonSchema(text), execute: async () => "22 degrees" });
  const prompt = `Weather by ${kind}? [[call weather {"engine": "Paris"}]]`;
  await generateText({ model, prompt, tools: { weather }, stopWhen: stepCountIs(3) });
}
await generateObject({ model: openai.chat("small"), schema: jsonSchema(text), prompt: "Which engine has the ledger, as an object?" });
