// A button that copies, at each block of code and after each [data-copy], where the browser opens its clipboard.
const copyButton = (element) => {
  const button = document.createElement("button");
  button.className = "quiet copy";
  button.type = "button";
  button.textContent = gettext("Copy");
  button.addEventListener("click", async () => {
    const done = await navigator.clipboard.writeText(element.textContent).then(() => true, () => false);
    button.textContent = done ? gettext("Copied") : gettext("Not copied");
    setTimeout(() => { button.textContent = gettext("Copy"); }, 2000);
  });
  return button;
};

const turns = document.getElementById("turns");
const add = () => {
  for (const code of turns.querySelectorAll(".formatted pre:not(.copied-from > pre)")) {
    const around = document.createElement("div");
    around.className = "copied-from";
    code.replaceWith(around);
    around.append(code, copyButton(code));
  }
};

if (navigator.clipboard) {
  for (const element of document.querySelectorAll("[data-copy]")) element.after(" ", copyButton(element));
  if (turns) {
    add();
    new MutationObserver(add).observe(turns, { childList: true, subtree: true });
  }
}
