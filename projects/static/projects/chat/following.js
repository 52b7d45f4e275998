// What changes while the page is open: whether the chat is in memory, its title and its turns.

import { isAtEnd, isOldPage, pageAt, toEnd, turns } from "./page.js";
import { name } from "./answers.js";

const SECONDS = 4;
const state = document.getElementById("memory-state");

const isBeingWritten = (turn) => Boolean(turn.querySelector("[data-stream]"));

// The turns of the site come, others go; one that is edited or looked into here stays.
const catchUp = async () => {
  const page = await pageAt(location.pathname);
  const fresh = [...page.querySelectorAll("#turns > .turn")];
  const atEnd = isAtEnd();
  const first = fresh[0] && document.getElementById(fresh[0].id);
  for (const turn of first ? turns.querySelectorAll(`#${first.id} ~ .turn`) : turns.querySelectorAll(".turn")) {
    if (!page.getElementById(turn.id) && !turn.querySelector("form.editing")) turn.remove();
  }
  for (const turn of fresh) {
    const here = document.getElementById(turn.id);
    if (!here) turns.append(turn);
    else if (isBeingWritten(here) !== isBeingWritten(turn)) here.replaceWith(turn);
  }
  if (turns.querySelector(".turn")) document.getElementById("nothing-yet")?.remove();
  if (atEnd) toEnd();
};

// Every few seconds while somebody looks and this page does nothing itself (`idle`).
export const follow = (idle, changed) => {
  const look = async () => {
    if (document.hidden || !idle()) return;
    const response = await fetch(state.dataset.address, { headers: { Accept: "application/json" } }).catch(() => null);
    if (!response?.ok || !idle()) return;
    const now = await response.json();
    for (const each of document.querySelectorAll(".memory-state")) {
      if (each.textContent !== now.memory) each.textContent = now.memory; // only a change is read out
      each.hidden = !now.memory;
    }
    name(now.title);
    if (state.dataset.turns === now.turns || isOldPage) return;
    await catchUp();
    state.dataset.turns = now.turns;
    changed();
  };
  setInterval(() => look().catch(() => {}), SECONDS * 1000);
  document.addEventListener("visibilitychange", () => look().catch(() => {}));
};
