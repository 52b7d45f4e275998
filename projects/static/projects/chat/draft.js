// What is written and not sent: kept in this browser for each person and chat until it is sent or they sign out.

import { composer, tell, turns } from "./page.js";

const box = composer.elements.message;
const own = `draft ${composer.dataset.person} `;
const name = own + location.pathname;

export const keep = () => (box.value ? localStorage.setItem(name, box.value) : localStorage.removeItem(name));

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

if (!box.value) box.value = localStorage.getItem(name) ?? "";
box.addEventListener("input", keep);
addEventListener("pagehide", keep);
addEventListener("pageshow", () => box.value || (box.value = localStorage.getItem(name) ?? ""));
document.querySelector('form[action$="/logout/"]')?.addEventListener("submit", () => {
  box.value = "";
  for (const key of Object.keys(localStorage)) if (key.startsWith(own)) localStorage.removeItem(key);
});
