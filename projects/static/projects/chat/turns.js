// What stands under a turn, opened in place or copied. Without this script they are pages of their own.
import { pageAt, turns } from "./page.js";

const useMemory = async (link) => {
  const turn = link.closest(".turn");
  const open = turn.querySelector(".memory-used");
  link.setAttribute("aria-expanded", String(!open));
  if (open) return open.remove();
  const used = (await pageAt(link.href)).getElementById("memory-used");
  used.removeAttribute("id"); // there may be several
  document.getElementById(turn.id).querySelector(".turn-acts").after(used); // the line, or the turn, may be a new one by now
};

// The number of a source: its line of the memory that the answer was given.
const showSource = async (cite) => {
  const turn = cite.closest(".turn");
  if (!turn.querySelector(".memory-used")) await useMemory(turn.querySelector(".turn-acts .used"));
  document.getElementById(new URL(cite.href).hash.slice(1)).focus();
};

// An edit that is not sent is kept, like a draft (chat/draft.js).
const draftOf = (link) => `draft ${document.getElementById("composer")?.dataset.person} ${link.pathname}`;

const edit = async (link) => {
  const text = link.closest(".turn").querySelector(".mine .text");
  if (text.hidden) return;
  const form = (await pageAt(link.href)).getElementById("editing");
  const box = form.elements.message;
  const draft = draftOf(link);
  const stored = box.value;
  const close = () => {
    form.remove();
    text.hidden = false;
    link.focus();
  };
  box.value = localStorage.getItem(draft) ?? stored;
  box.addEventListener("input", () => (box.value === stored ? localStorage.removeItem(draft) : localStorage.setItem(draft, box.value)));
  for (const [from, to] of [["edited", "label"], ["edited-hint", "hint"]]) {
    const id = `${to}-${link.closest(".turn").id}`; // there may be several
    form.querySelector(`[for="${from}"]`)?.setAttribute("for", id);
    form.querySelector(`#${from}`).id = id;
  }
  box.setAttribute("aria-describedby", `hint-${link.closest(".turn").id}`);
  form.removeAttribute("id");
  form.querySelector(".cancel").addEventListener("click", (event) => {
    event.preventDefault();
    localStorage.removeItem(draft);
    close();
  });
  form.addEventListener("keydown", (event) => {
    if (event.key === "Escape") close();
  });
  text.hidden = true;
  text.after(form);
  box.focus();
};

// Answers that came meanwhile have their acts on the site, and one is no longer the last.
const catchUp = async () => {
  const fresh = await pageAt(location.pathname);
  for (const turn of turns.querySelectorAll(".turn[id]:not(.looked-at)")) {
    const acts = fresh.getElementById(turn.id)?.querySelector(":scope:not(:has([data-stream])) > .turn-acts"); // it may be answered by now
    const old = turn.querySelector(".turn-acts");
    if (acts && old?.outerHTML !== acts.outerHTML) old ? old.replaceWith(acts) : turn.append(acts);
  }
  const list = fresh.querySelector("#chats ul");
  const open = document.querySelector("#chats :focus, #chats .manage[open], #chats-search:not(:placeholder-shown)");
  if (list && !open) document.querySelector("#chats ul").replaceWith(list);
};

let soon = 0;
const lacking = () => turns.querySelector(".turn[id]:not(:has(.turn-acts, [data-stream])), .turn:has(~ .turn) .of-last");
new MutationObserver(() => {
  if (!lacking()) return;
  clearTimeout(soon);
  soon = setTimeout(() => catchUp().catch(() => {}), 200);
}).observe(turns, { childList: true, subtree: true, attributes: true, attributeFilter: ["id", "class"] });

const copyAnswer = async (link) => {
  const response = await fetch(link.href);
  if (!response.ok) throw new Error(response.status);
  await navigator.clipboard.writeText(await response.text());
  const before = link.textContent;
  link.textContent = document.getElementById("spoken").textContent = gettext("Copied");
  setTimeout(() => { link.textContent = before; }, 2000);
};

// Another version of a turn, to look at.
const look = async (link) => {
  const turn = link.closest(".turn");
  const other = (await pageAt(link.href)).getElementById(turn.id);
  turn.replaceWith(other);
  (other.querySelector(`[aria-label="${link.ariaLabel}"]`) ?? other.querySelector(".version")).focus();
};

const opened = { "copy-answer": copyAnswer, used: useMemory, edit, cite: showSource, version: look };
turns.addEventListener("click", (event) => {
  const link = event.target.closest(".turn-acts a, a.cite");
  const open = link && !event.ctrlKey && !event.metaKey && !event.shiftKey && opened[link.className];
  if (!open) return;
  event.preventDefault();
  open(link).catch(() => location.assign(link.href));
});
for (const link of turns.querySelectorAll(".turn-acts a.edit")) if (localStorage.getItem(draftOf(link)) !== null) edit(link).catch(() => {});
