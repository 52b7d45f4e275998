// What is written: kept in this browser for each person and chat until the site has it or they sign out.

import { composer, tell, turns } from "./page.js";

const box = composer.elements.message;
const own = `draft ${composer.dataset.person} `;
const name = own + location.pathname;
const sentName = `${name} sent`;
let leaving = ""; // what is being sent: kept above what is written meanwhile

const store = (name, text) => (text ? localStorage.setItem(name, text) : localStorage.removeItem(name));
const written = () => [leaving, box.value].filter(Boolean).join("\n");
export const keep = () => store(name, written());

// The message leaves the box. The site may get it and its answer be lost: with its key, sent again, it is there once.
export const leave = (message) => {
  const before = JSON.parse(localStorage.getItem(sentName));
  const key = Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) => b.toString(16).padStart(2, "0")).join("");
  const sent = before?.message === message ? before : { message, key, after: turns.querySelector(".turn:not(:has(~ .turn))")?.id };
  store(sentName, JSON.stringify(sent));
  leaving = message;
  box.value = "";
  return sent.key;
};

export const arrive = (isThere) => {
  if (isThere) store(sentName);
  else box.value = written();
  leaving = "";
  keep();
};

// A message that stands on the page now was sent, whatever became of its request.
export const restore = () => {
  if (leaving) return;
  const sent = JSON.parse(localStorage.getItem(sentName));
  const draft = localStorage.getItem(name) ?? "";
  const since = sent ? turns.querySelectorAll(`${sent.after ? `#${sent.after} ~ ` : ""}.turn .mine .text`) : [];
  const isThere = [...since].some((text) => text.textContent === sent.message);
  const rest = isThere && `${draft}\n`.startsWith(`${sent.message}\n`) ? draft.slice(sent.message.length + 1) : draft;
  if (isThere) store(sentName);
  if (!box.value || box.value === draft) box.value = rest;
  keep();
};

// By how much a message is too long, in words; empty if it may be sent. Nothing is cut.
export const excess = (message) => {
  const most = Number(composer.dataset.most);
  const over = message.length > most ? [...message].length - most : 0;
  return over > 0 ? interpolate(gettext("Too long by %(over)s characters. At most %(most)s are accepted."), { over: over.toLocaleString(), most: most.toLocaleString() }, true) : "";
};

// Said while it is written, where it is written.
let isSaid = false;
box.addEventListener("input", () => {
  const line = excess(box.value);
  if (line || isSaid) tell(line);
  isSaid = Boolean(line);
});
turns.addEventListener("input", (event) => {
  const form = event.target.closest("form.editing");
  if (!form) return;
  const line = excess(event.target.value);
  const old = form.querySelector(".too-long");
  if (!line) return old?.remove();
  const place = old ?? document.createElement("p");
  if (!old) {
    place.className = "problem too-long";
    place.setAttribute("role", "alert");
    event.target.after(place);
  }
  if (place.textContent !== line) place.textContent = line;
});

restore();
box.addEventListener("input", keep);
addEventListener("pageshow", restore);
document.querySelector('form[action$="/logout/"]')?.addEventListener("submit", () => {
  box.value = "";
  for (const key of Object.keys(localStorage)) if (key.startsWith(own)) localStorage.removeItem(key);
});
