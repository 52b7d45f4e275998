// The client: records turns, gives memory for a prompt, recalls and forgets. Its types are made from the site's OpenAPI
// document, so that they are the API's own.
import createClient, { type Client } from "openapi-fetch";
import type { components, paths } from "./api.js";

type Schemas = components["schemas"];
type Body<Path extends keyof paths> = paths[Path] extends {
  post: { requestBody: { content: { "application/json": infer Content } } };
}
  ? Content
  : never;
type Answer = { data?: unknown; error?: unknown; response: Response };

export type Output = Body<"/api/v1/outputs">;
export type Memory = Schemas["MemoryOut"];
export type { components, paths };

/** A refused request: its status, what was wrong, and the fields that were, as JSON pointers. */
export class MemoryBankError extends Error {
  constructor(
    readonly status: number,
    readonly detail: string,
    readonly errors: { pointer: string; detail: string }[] = [],
  ) {
    super(`${status}: ${detail}`);
  }
}

/** A project of Memory Bank, by the address of the site and an API key of the project. */
export class MemoryBank {
  /** Every operation of the API, typed; the methods below are the common ones. */
  readonly api: Client<paths>;

  constructor(address: string, key: string) {
    this.api = createClient<paths>({
      baseUrl: address.replace(/\/+$/, ""),
      headers: { Authorization: `Bearer ${key}` },
    });
  }

  /** Record a turn. Recorded again with the same `id`, it changes nothing. */
  async record(output: Output) {
    return wanted(await this.api.POST("/api/v1/outputs", { body: output }));
  }

  /** The block and the notes for a chat's next message. */
  async memory(question: string, chat?: string): Promise<Memory> {
    const body = chat === undefined ? { question } : { question, chat };
    return wanted(await this.api.POST("/api/v1/memory", { body }));
  }

  /** Turns and facts that answer a question, best first. */
  async recall(question: string, options: Omit<Body<"/api/v1/recall">, "question"> = {}) {
    return wanted(await this.api.POST("/api/v1/recall", { body: { question, ...options } })).hits;
  }

  /** Erase a chat, an author's turns, a turn, or facts, with everything derived from it; returns the receipt. */
  async forget(what: Body<"/api/v1/forget">) {
    return wanted(await this.api.POST("/api/v1/forget", { body: what }));
  }
}

function wanted<Result extends Answer>(answer: Result): NonNullable<Result["data"]> {
  if (answer.response.ok && answer.data !== undefined) return answer.data as NonNullable<Result["data"]>;
  const problem = (typeof answer.error === "object" ? answer.error : null) as Partial<MemoryBankError> | null;
  throw new MemoryBankError(answer.response.status, problem?.detail ?? answer.response.statusText, problem?.errors);
}
