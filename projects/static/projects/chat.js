// Sends a message, or asks one again, without leaving the page. Without this script the forms post and the page reloads.
"use strict";

(() => {
  const form = document.getElementById("composer");
  if (!form) return;
  const box = form.elements.message;
  const button = form.querySelector("button");
  const turns = document.getElementById("turns");
  const problem = document.getElementById("problem");
  const number = new Intl.NumberFormat(document.documentElement.lang);
  let unsure = null; // a message whose sending broke off, with its key: sent again it is the same message

  document.getElementById("keys").hidden = false;

  const slot = (root, name) => root.querySelector(`[data-slot="${name}"]`);

  const copyOf = (id) => document.getElementById(id).content.firstElementChild.cloneNode(true);

  const tell = (line) => {
    problem.textContent = line;
    problem.hidden = !line;
  };

  const newKey = () => Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) => b.toString(16).padStart(2, "0")).join("");

  const ask = (message) => {
    const turn = copyOf("turn-template");
    slot(turn, "question").textContent = message;
    slot(turn, "answer").textContent = "…";
    turn.classList.add("waiting");
    document.getElementById("nothing-yet")?.remove();
    turns.querySelector(".unsent")?.remove();
    turns.append(turn);
    turn.scrollIntoView({ block: "nearest" });
    return turn;
  };

  const answered = (turn, reply) => {
    slot(turn, "answer").innerHTML = reply.html; // made safe by the server
  };

  const unsent = (turn, reply) => {
    slot(turn, "reply").remove();
    const section = copyOf("unsent-template");
    const counts = { tokens: reply.prompt_tokens, told: reply.memory_tokens, recalled: reply.recalled_tokens };
    for (const [name, count] of Object.entries(counts)) slot(section, name).textContent = number.format(count);
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

  const failed = (turn, why, output) => {
    const note = copyOf("failed-template");
    const retry = note.querySelector("form");
    slot(note, "why").textContent = why;
    retry.action = retry.action.replace(/[^/]+\/retry$/, `${output}/retry`);
    retry.dataset.endpoint = retry.dataset.endpoint.replace(/[^/]+\/retry$/, `${output}/retry`);
    slot(turn, "reply").replaceWith(note);
    turn.id = `turn-${output}`;
    turn.classList.remove("waiting");
  };

  const isCommand = (message) => /^\s*\/compact(\s|$)/.test(message);

  // Beneath the last turn that it stands for, or above all of them if that is on an earlier page.
  const standing = (made) => {
    const known = made && document.getElementById(`checkpoint-${made.number}`);
    if (!made || known) return known;
    const line = copyOf("checkpoint-template");
    line.id = `checkpoint-${made.number}`;
    slot(line, "label").textContent = made.label;
    slot(line, "text").textContent = made.text;
    const after = document.getElementById(`turn-${made.after}`);
    if (after) after.after(line);
    else turns.prepend(line);
    return line;
  };

  const compacting = document.getElementById("compacting");
  let waiting = 0; // how many requests may be shortening the chat
  let looking = false;
  let atIt = !compacting.hidden; // whether somebody is shortening the chat, as far as is known

  const showHowFar = ({ percent, stage, problem }) => {
    const over = atIt && percent === null;
    atIt = percent !== null;
    compacting.hidden = !atIt;
    document.getElementById("percent").value = percent || 0;
    document.getElementById("stage").textContent = stage ? `${percent} %, ${stage}` : `${percent || 0} %`;
    document.getElementById("not-compacted-why").textContent = problem;
    document.getElementById("not-compacted").hidden = !(over && problem);
  };

  // Whether somebody is at it. While the server does not answer, whoever was at it may be.
  const look = async () => {
    const response = await fetch(compacting.dataset.endpoint).catch(() => null);
    if (!response) return atIt;
    if (!response.ok) return false;
    const told = await response.json();
    showHowFar(told);
    if (!atIt) standing(told.checkpoint);
    return atIt;
  };

  // Once a second, until nobody waits and nobody is at it.
  const watch = async () => {
    if (looking) return;
    looking = true;
    do await new Promise((done) => setTimeout(done, 1000));
    while ((await look()) || waiting);
    looking = false;
  };

  const shorten = async (message) => {
    tell("");
    box.value = "";
    try {
      const { compaction } = await post(form.dataset.endpoint, { message });
      atIt = true;
      showHowFar(compaction);
      compacting.scrollIntoView({ block: "nearest" });
      watch();
    } catch (error) {
      box.value = box.value || message;
      tell(error instanceof TypeError ? gettext("The connection broke. Look again in a moment.") : error.message);
    }
    box.focus();
  };

  const post = async (endpoint, data) => {
    waiting += 1;
    watch();
    const response = await fetch(endpoint, {
      method: "POST",
      headers: { "Content-Type": "application/json", "X-CSRFToken": form.elements.csrfmiddlewaretoken.value },
      body: JSON.stringify(data),
    }).finally(() => {
      waiting -= 1;
      compacting.hidden = true; // the next look knows whether somebody else is at it
    });
    const isJSON = (response.headers.get("Content-Type") || "").startsWith("application/json");
    const body = isJSON ? await response.json() : {};
    if (response.ok || body.output) return body;
    throw new Error(body.error || `The site answered ${response.status}. Reload the page and try again.`);
  };

  const show = (turn, reply) => {
    if (reply.error) {
      failed(turn, reply.error, reply.output);
    } else {
      document.getElementById("title").textContent = reply.title;
      standing(reply.checkpoint);
      (reply.answer === null ? unsent : answered)(turn, reply);
      turn.id = `turn-${reply.output}`;
      turn.classList.remove("waiting");
    }
    turns.lastElementChild.scrollIntoView({ block: "nearest" });
  };

  const send = async () => {
    const message = box.value;
    if (!message.trim() || button.disabled) return;
    if (isCommand(message)) return shorten(message);
    const key = unsure && unsure.message === message ? unsure.key : newKey();
    unsure = null;
    tell("");
    button.disabled = true;
    box.value = "";
    const turn = ask(message);
    try {
      show(turn, await post(form.dataset.endpoint, { message, key }));
    } catch (error) {
      turn.remove();
      if (error instanceof TypeError && !box.value) unsure = { message, key };
      box.value = box.value ? `${message}\n${box.value}` : message;
      tell(error instanceof TypeError ? "The connection broke. Your message is still here; sent again, it is there once." : error.message);
    } finally {
      button.disabled = false;
      box.focus();
    }
  };

  const askAgain = async (retry) => {
    if (button.disabled) return;
    const before = retry.closest(".turn");
    tell("");
    button.disabled = true;
    const turn = ask(slot(before, "question").textContent); // at the end: that is where its answer will stand
    before.hidden = true;
    try {
      const reply = await post(retry.dataset.endpoint, {});
      show(turn, reply);
      if (reply.error) before.replaceWith(turn);
      else before.remove();
    } catch (error) {
      turn.remove();
      before.hidden = false;
      tell(error instanceof TypeError ? "The connection broke. Try again, or reload the page." : error.message);
    } finally {
      button.disabled = false;
      box.focus();
    }
  };

  document.getElementById("look").hidden = true;
  if (!compacting.hidden) watch();
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    send();
  });
  turns.addEventListener("submit", (event) => {
    event.preventDefault();
    askAgain(event.target);
  });
  box.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      send();
    }
  });
})();
