// What is written: kept in this browser for each person and chat until the site has it or they sign out.

import { composer, tell, turns } from "./page.js";

const box = composer.elements.message;
const own = `draft ${composer.dataset.person} `;
const name = own + location.pathname;
const sentName = `${name} sent`;
let sent = null; // what this page sends, or is not sure to have sent
let leaving = ""; // what is being sent: kept above what is written meanwhile
let known = ""; // the draft as read
let isOut = false;

const store = (name, text) => {
  try {
    if (!isOut) text ? localStorage.setItem(name, text) : localStorage.removeItem(name);
  } catch {} // no room: it is sent all the same
};
const written = () => [leaving, box.value].filter(Boolean).join("\n");
export const keep = () => store(name, written());
const unsure = () => sent ?? JSON.parse(localStorage.getItem(sentName));

// The message leaves the box. If its answer is lost and it is sent again soon, by its key it is there once.
export const leave = (message) => {
  const before = unsure();
  const key = Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) => b.toString(16).padStart(2, "0")).join("");
  const at = Date.now();
  sent = before?.message === message && at - before.at < 6e5 ? before : { message, key, at, after: turns.querySelector(".turn:not(:has(~ .turn))")?.id };
  store(sentName, JSON.stringify(sent));
  leaving = message;
  box.value = "";
  return sent.key;
};

const forget = () => store(sentName, (sent = null));

export const arrive = (isThere) => {
  if (isThere) forget();
  else box.value = written();
  leaving = "";
  keep();
};

// A message that stands on the page was sent, whatever became of its request. What is written here stays.
export const restore = (isOpening) => {
  if (leaving) return;
  const { message, after } = unsure() ?? {};
  const draft = localStorage.getItem(name) ?? "";
  const since = message ? turns.querySelectorAll(`${after ? `#${after} ~ ` : ""}.turn .mine .text`) : [];
  const isThere = [...since].some((text) => text.textContent === message);
  const rest = (text) => (isThere && `${text}\n`.startsWith(`${message}\n`) ? text.slice(message.length + 1) : text);
  if (isOpening ? !box.value : box.value && box.value === known) box.value = known = rest(draft);
  else box.value = rest(box.value);
  if (isThere) {
    forget();
    store(name, rest(draft));
  }
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

restore(true);
box.addEventListener("input", keep);
addEventListener("pageshow", () => restore(true));
document.querySelector('form[action$="/logout/"]')?.addEventListener("submit", () => {
  isOut = true;
  for (const key of Object.keys(localStorage)) if (key.startsWith(own)) localStorage.removeItem(key);
});
