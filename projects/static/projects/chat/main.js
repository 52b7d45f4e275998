// The composer of a chat, and asking again. Without these scripts the forms post and the page reloads.

import { isWriting, listen, show, stop } from "./answers.js";
import { begun as shortening, isCommand } from "./compacting.js";
import { arrive, excess, keep, leave, restore } from "./draft.js";
import { follow } from "./following.js";
import { composer, isOldPage, post, tell, toEnd, turns } from "./page.js";
import "./turns.js";

const box = composer.elements.message;
const button = composer.querySelector("button");
const sendText = button.textContent;
let sending = false;
const byThumb = matchMedia("(pointer: coarse)").matches; // there Enter begins a line, as everywhere on a phone

// While an answer is written the button stops it; nothing else on the page moves.
const settle = () => {
  button.disabled = sending;
  button.textContent = isWriting() ? gettext("Stop") : sendText;
};

const stopWriting = () => turns.querySelector(".writing .stop")?.requestSubmit();

// Whatever is sent, one at a time; `broken` says what to do about a connection that broke.
const busy = async (work, broken) => {
  tell("");
  sending = true;
  settle();
  try {
    await work();
  } catch (error) {
    tell(error instanceof TypeError ? broken : error.message, error.signIn);
    throw error;
  } finally {
    sending = false;
    settle();
  }
};

const begun = (reply) => {
  show(reply);
  listen(settle);
};

const ask = (address, data) => post(address, data, { Prefer: "respond-async" });

const shorten = async (message) => shortening((await post(composer.action, { message })).compaction);

const showHelp = () => {
  const help = document.getElementById("help");
  box.value = "";
  keep();
  help.open = true;
  help.querySelector("summary").focus();
  help.scrollIntoView({ block: "nearest" });
};

const send = () => {
  const message = box.value;
  if (!message.trim() || sending || isWriting()) return;
  if (excess(message)) return tell(excess(message));
  if (message.trim() === "/help") return showHelp();
  const key = leave(message);
  const work = async () => (isCommand(message) ? shorten(message) : begun(await ask(composer.action, { message, key })));
  const sent = busy(work, gettext("The connection broke. Your message is still here; sent again, it is there once."));
  sent.then(() => arrive(true), () => arrive(false));
};

// What is said of a turn that is there; `then` if the site has taken it.
const askAnew = (address, data, then = () => {}) => {
  if (sending || isWriting()) return tell(gettext("An answer is being written. Wait for it, or stop it."));
  const work = async () => {
    const reply = await ask(address, data);
    then();
    begun(reply);
    if (!isWriting()) location.reload(); // nobody answers, or somebody has: turns may have given way to it
  };
  busy(work, gettext("The connection broke. Try again, or reload the page.")).catch(() => {});
};

const askAgain = (retry, button) => askAnew(button?.hasAttribute("formaction") ? button.formAction : retry.action, {});

const edit = (form) => {
  const { message, key } = form.elements;
  if (excess(message.value)) return message.focus(); // the form says so
  askAnew(form.action, { message: message.value, key: key.value }, () => {
    form.querySelector(".cancel").click();
    if (!byThumb) box.focus();
  });
};

composer.addEventListener("submit", (event) => {
  event.preventDefault();
  send();
});
button.addEventListener("click", (event) => {
  if (!isWriting()) return;
  event.preventDefault(); // an empty box would not be submitted
  stopWriting();
});
turns.addEventListener("submit", (event) => {
  const act = { retry: askAgain, stop, editing: edit }[event.target.classList[0]];
  if (!act) return;
  event.preventDefault();
  act(event.target, event.submitter);
});
// One rating for each person: the other thumb replaces it, the same one again takes it back.
const rate = async (thumb) => {
  const body = new FormData(thumb.form, thumb);
  const response = await fetch(thumb.formAction, { method: "POST", headers: { Accept: "application/json" }, body });
  const { helpful } = response.ok ? await response.json() : {};
  if (helpful === undefined) return location.reload();
  for (const each of thumb.parentElement.children) {
    const pressed = each.dataset.rating === { true: "yes", false: "no" }[helpful];
    each.setAttribute("aria-pressed", String(pressed));
    each.value = pressed ? "" : each.dataset.rating;
  }
};

document.getElementById("on-turn").addEventListener("submit", (event) => {
  if ("rating" in event.submitter.dataset) {
    event.preventDefault();
    rate(event.submitter).catch(() => location.reload());
    return;
  }
  if (!("inPlace" in event.submitter.dataset)) return; // its answer is another page
  event.preventDefault();
  askAnew(event.submitter.formAction, {});
});
addEventListener("keydown", (event) => {
  if (event.key === "Escape" && !event.target.closest("form.editing")) stopWriting();
});
box.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing || byThumb) return;
  event.preventDefault();
  send();
});

document.getElementById("keys").hidden = byThumb;
listen(settle);
follow(() => !sending && !isWriting(), () => (listen(settle), restore()));
const notice = document.querySelector("main > .notice[role=status]"); // what became of an act, with Undo: it stands above the turns
const isNew = document.getElementById("nothing-yet");
if (!notice && !isNew && !location.hash && !isOldPage) toEnd();
if (isNew && !byThumb) box.focus(); // a phone would open its keyboard over the page
