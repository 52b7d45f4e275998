// Sends a message without leaving the page. Without this script the form posts and the page reloads.
"use strict";

(() => {
  const form = document.getElementById("composer");
  if (!form) return;
  const box = form.elements.message;
  const button = form.querySelector("button");
  const turns = document.getElementById("turns");
  const problem = document.getElementById("problem");
  const number = new Intl.NumberFormat(document.documentElement.lang);
  let last = null; // what the script added last, so that the next prompt replaces it

  document.getElementById("keys").hidden = false;

  const slot = (root, name) => root.querySelector(`[data-slot="${name}"]`);

  const copyOf = (id) => document.getElementById(id).content.firstElementChild.cloneNode(true);

  const tell = (line) => {
    problem.textContent = line;
    problem.hidden = !line;
  };

  const ask = (message) => {
    const turn = copyOf("turn-template");
    slot(turn, "question").textContent = message;
    slot(turn, "answer").textContent = "…";
    turn.querySelector("details").hidden = true;
    turn.classList.add("waiting");
    document.getElementById("nothing-yet")?.remove();
    turns.querySelector(".unsent")?.remove();
    turns.append(turn);
    turn.scrollIntoView({ block: "nearest" });
    return turn;
  };

  const answered = (turn, reply) => {
    slot(turn, "answer").textContent = reply.answer;
    slot(turn, "summary").textContent = reply.memory_tokens
      ? `Given with ${number.format(reply.memory_tokens)} tokens of memory`
      : "Given without memory";
    slot(turn, "memory").textContent = reply.memory;
    slot(turn, "memory").hidden = !reply.memory;
    slot(turn, "counts").textContent = `Prompt ${number.format(reply.prompt_tokens)} tokens.`;
    turn.querySelector("details").hidden = false;
  };

  const unsent = (turn, reply) => {
    slot(turn, "reply").remove();
    const section = copyOf("unsent-template");
    slot(section, "explanation").textContent =
      "No chat model is configured, so nobody answers. Your message is recorded all the same, and becomes memory. " +
      `This is the exact prompt a model would be sent, ${number.format(reply.prompt_tokens)} tokens, ` +
      `${number.format(reply.memory_tokens)} of them memory:`;
    reply.prompt.forEach((message, index) => section.append(shown(message, index === 0)));
    turns.append(section);
  };

  const shown = (message, open) => {
    const details = document.createElement("details");
    const summary = document.createElement("summary");
    const text = document.createElement("pre");
    details.className = "given";
    details.open = open;
    summary.textContent = message.role;
    text.textContent = message.content;
    text.tabIndex = 0;
    details.append(summary, text);
    return details;
  };

  const post = async (message) => {
    const response = await fetch(form.dataset.endpoint, {
      method: "POST",
      headers: { "Content-Type": "application/json", "X-CSRFToken": form.elements.csrfmiddlewaretoken.value },
      body: JSON.stringify({ message }),
    });
    const isJSON = (response.headers.get("Content-Type") || "").startsWith("application/json");
    const body = isJSON ? await response.json() : {};
    if (!response.ok) throw new Error(body.error || `The site answered ${response.status}. Reload the page and try again.`);
    return body;
  };

  const send = async () => {
    const message = box.value;
    if (!message.trim() || button.disabled) return;
    tell("");
    button.disabled = true;
    box.value = "";
    last = ask(message);
    try {
      const reply = await post(message);
      document.getElementById("title").textContent = reply.title;
      (reply.answer === null ? unsent : answered)(last, reply);
      last.id = `turn-${reply.output}`;
      last.classList.remove("waiting");
      turns.lastElementChild.scrollIntoView({ block: "nearest" });
    } catch (error) {
      last.remove();
      box.value = box.value ? `${message}\n${box.value}` : message;
      tell(error instanceof TypeError ? "The site cannot be reached. Your message is still here." : error.message);
    } finally {
      button.disabled = false;
      box.focus();
    }
  };

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    send();
  });
  box.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      send();
    }
  });
})();
