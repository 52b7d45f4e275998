// Answers as they come: each turn that is being written listens to the site, which renders them.

import { composer, isAtEnd, slot, toEnd, turns } from "./page.js";
import { watch } from "./compacting.js";

const spoken = document.getElementById("spoken");
const listening = new Map();

// The elements before `from` stay as they are.
const grow = (answer, { from, html }) => {
  const fresh = document.createElement("template");
  fresh.innerHTML = html; // made safe by the server
  while (answer.children.length > from) answer.lastElementChild.remove();
  answer.append(fresh.content);
};

// In the place of `turn` what the site has in the end, if anything.
const replace = (turn, html) => {
  const fresh = document.createElement("template");
  fresh.innerHTML = html;
  const made = fresh.content.firstElementChild;
  turn.replaceWith(fresh.content);
  return made;
};

// The turns whose place this one takes, each with the line of a checkpoint beneath it.
const replacedBy = (turn) =>
  (turn.dataset.replaces ?? "").split(" ").flatMap((id) => {
    const given = document.getElementById(id);
    const line = given?.nextElementSibling;
    return given ? [given, ...(line?.matches(".checkpoint") ? [line] : [])] : [];
  });

// Hidden while the new answer is written; without one they are there again.
const hide = (given, hidden) => given.forEach((each) => (each.hidden = hidden));

// What the chat is called, once it is called something.
export const name = (title) => {
  if (!title) return;
  for (const each of document.querySelectorAll("#title, .here b, #chats [aria-current] bdi")) each.textContent = title;
  document.title = document.title.replace(/^.*(?= · )/, () => title);
};

const ended = (turn, given, { turn: html, title }) => {
  const follow = isAtEnd();
  const focused = turn.contains(document.activeElement);
  const stopped = document.activeElement === composer.querySelector("button"); // it was Stop; without an answer one tries again
  const made = replace(turn, html);
  const next = focused ? "button, .turn-acts a" : stopped ? ".retry button" : null;
  if (next) made?.querySelector(next)?.focus({ preventScroll: true });
  if (made && !made.dataset.replaces) given.forEach((each) => each.remove());
  hide(given, false);
  name(title);
  spoken.textContent = made?.querySelector(".theirs .text, .none")?.textContent ?? ""; // read out once, and whole
  if (follow) toEnd();
};

export const isWriting = () => listening.size > 0;

const listenTo = (turn, writing, changed) => {
  const events = new EventSource(writing.dataset.stream);
  const given = replacedBy(turn);
  const close = () => {
    events.close();
    listening.delete(turn);
    changed();
  };
  hide(given, true);
  writing.classList.add("listening");
  listening.set(turn, writing);
  events.addEventListener("text", (event) => {
    const follow = isAtEnd();
    grow(slot(writing, "answer"), JSON.parse(event.data));
    if (follow) toEnd();
  });
  events.addEventListener("end", (event) => {
    close();
    ended(turn, given, JSON.parse(event.data));
  });
  events.addEventListener("error", () => {
    if (events.readyState !== EventSource.CLOSED) return;
    close(); // the site refused: what is there stays
    hide(given, false);
  });
  changed();
  watch(isWriting);
};

// Listen to every answer being written; `changed` is called when that begins or ends.
export const listen = (changed) => {
  for (const writing of turns.querySelectorAll("[data-stream]:not(.listening)")) listenTo(writing.closest(".turn"), writing, changed);
};

// The button stays as it is: one that is disabled loses the focus, which is to be on what stands in its place.
export const stop = async (form) => {
  await fetch(form.action, { method: "POST", body: new FormData(form), redirect: "manual" });
};

// A turn as the site has it now, at the end; it is there once.
export const show = ({ turn: html, title }) => {
  name(title);
  document.getElementById("nothing-yet")?.remove();
  turns.querySelector(".unsent")?.remove();
  const fresh = document.createElement("template");
  fresh.innerHTML = html;
  for (const turn of fresh.content.children) document.getElementById(turn.id)?.remove();
  turns.append(fresh.content);
  toEnd();
};
