// What is written and not sent: kept in this browser for each person and chat until it is sent or they sign out.

import { composer, tell } from "./page.js";

const box = composer.elements.message;
const own = `draft ${composer.dataset.person} `;
const name = own + location.pathname;

export const keep = () => (box.value ? localStorage.setItem(name, box.value) : localStorage.removeItem(name));

// Whether the message may be sent; otherwise it is said by how much it is too long, and nothing is cut.
export const fits = (message) => {
  const over = [...message].length - Number(composer.dataset.most);
  if (over > 0) tell(interpolate(gettext("Too long by %(over)s characters. At most %(most)s are accepted."), { over: over.toLocaleString(), most: Number(composer.dataset.most).toLocaleString() }, true));
  return over <= 0;
};

if (!box.value) box.value = localStorage.getItem(name) ?? "";
box.addEventListener("input", keep);
addEventListener("pagehide", keep);
addEventListener("pageshow", () => box.value || (box.value = localStorage.getItem(name) ?? ""));
document.querySelector('form[action$="/logout/"]')?.addEventListener("submit", () => {
  box.value = "";
  for (const key of Object.keys(localStorage)) if (key.startsWith(own)) localStorage.removeItem(key);
});
