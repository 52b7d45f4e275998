// What stands under a turn: the memory it was given and its message to be edited, both opened in place. Without this
// script they are pages of their own.
"use strict";

(() => {
  const turns = document.getElementById("turns");
  if (!turns) return;

  const pageAt = async (address) => {
    const response = await fetch(address);
    if (!response.ok) throw new Error(response.status);
    return new DOMParser().parseFromString(await response.text(), "text/html");
  };

  const useMemory = async (link) => {
    const acts = link.closest(".turn-acts");
    const open = acts.parentElement.querySelector(".memory-used");
    link.setAttribute("aria-expanded", String(!open));
    if (open) return open.remove();
    const used = (await pageAt(link.href)).getElementById("memory-used");
    used.removeAttribute("id"); // there may be several
    acts.after(used);
  };

  const edit = async (link) => {
    const text = link.closest(".turn").querySelector(".mine .text");
    if (text.hidden) return;
    const form = (await pageAt(link.href)).getElementById("editing");
    const box = form.elements.message;
    const close = () => {
      form.remove();
      text.hidden = false;
      link.focus();
    };
    for (const [from, to] of [["edited", "label"], ["edited-hint", "hint"]]) {
      const id = `${to}-${link.closest(".turn").id}`; // there may be several
      form.querySelector(`[for="${from}"]`)?.setAttribute("for", id);
      form.querySelector(`#${from}`).id = id;
    }
    box.setAttribute("aria-describedby", `hint-${link.closest(".turn").id}`);
    form.removeAttribute("id");
    form.querySelector(".cancel").addEventListener("click", (event) => {
      event.preventDefault();
      close();
    });
    form.addEventListener("keydown", (event) => {
      if (event.key === "Escape") close();
    });
    text.hidden = true;
    text.after(form);
    box.focus();
  };

  // Answers that came while the page was open have their line of acts on the server, and one is no longer the last.
  const catchUp = async () => {
    const fresh = await pageAt(location.pathname);
    for (const turn of turns.querySelectorAll(".turn[id]")) {
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

  const opened = { used: useMemory, edit };
  turns.addEventListener("click", (event) => {
    const link = event.target.closest(".turn-acts a");
    const open = link && !event.ctrlKey && !event.metaKey && !event.shiftKey && opened[link.className];
    if (!open) return;
    event.preventDefault();
    open(link).catch(() => location.assign(link.href));
  });
})();
