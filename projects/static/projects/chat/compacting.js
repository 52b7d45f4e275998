// Shortening a chat: how far it is, and the line that stands for what was shortened.

import { copyOf, slot, turns } from "./page.js";

const compacting = document.getElementById("compacting");
let looking = false;
let awaiting = () => false;
let atIt = !compacting.hidden; // whether somebody is shortening the chat, as far as is known

export const isCommand = (message) => /^\s*\/compact(\s|$)/.test(message);

// Beneath the last turn that it stands for, or above all of them if that is on an earlier page.
const standing = (made) => {
  const known = made && document.getElementById(`checkpoint-${made.number}`);
  if (!made || known) return known;
  const line = copyOf("checkpoint-template");
  line.id = `checkpoint-${made.number}`;
  slot(line, "label").textContent = made.label;
  slot(line, "text").textContent = made.text;
  const after = document.getElementById(`turn-${made.after}`);
  if (after) after.after(line);
  else turns.prepend(line);
  return line;
};

const showProgress = ({ percent, stage, problem }) => {
  const over = atIt && percent === null;
  atIt = percent !== null;
  compacting.hidden = !atIt;
  document.getElementById("percent").value = percent || 0;
  document.getElementById("stage").textContent = stage ? `${percent} %, ${stage}` : `${percent || 0} %`;
  document.getElementById("not-compacted-why").textContent = problem;
  document.getElementById("not-compacted").hidden = !(over && problem);
};

// Whether somebody is at it; without an answer, as before.
const look = async () => {
  const response = await fetch(compacting.dataset.endpoint, { headers: { Accept: "application/json" } }).catch(() => null);
  if (!response) return atIt;
  if (!response.ok) return false;
  const progress = await response.json();
  showProgress(progress);
  if (!atIt) standing(progress.checkpoint);
  return atIt;
};

// Once a second, while an answer is awaited (`busy`) or somebody is at it.
export const watch = async (busy = () => false) => {
  awaiting = busy;
  if (looking) return;
  looking = true;
  do await new Promise((done) => setTimeout(done, 1000));
  while ((await look()) || awaiting());
  looking = false;
};

export const begun = (compaction) => {
  atIt = true;
  showProgress(compaction);
  compacting.scrollIntoView({ block: "nearest" });
  watch();
};

document.getElementById("look").hidden = true;
if (atIt) watch();
