// A button at each block of code that copies it. Where a browser keeps the clipboard to itself there is none.
"use strict";

(() => {
  const turns = document.getElementById("turns");
  if (!turns || !navigator.clipboard) return;

  const add = () => {
    for (const code of turns.querySelectorAll(".formatted pre:not(.copied-from > pre)")) {
      const around = document.createElement("div");
      const button = document.createElement("button");
      around.className = "copied-from";
      button.className = "quiet copy";
      button.type = "button";
      button.textContent = gettext("Copy");
      button.addEventListener("click", async () => {
        const done = await navigator.clipboard.writeText(code.textContent).then(() => true, () => false);
        button.textContent = done ? gettext("Copied") : gettext("Not copied");
        setTimeout(() => { button.textContent = gettext("Copy"); }, 2000);
      });
      code.replaceWith(around);
      around.append(code, button);
    }
  };

  add();
  new MutationObserver(add).observe(turns, { childList: true, subtree: true });
})();
