"use strict";
// One tab holds the stream and tells the others. Nothing is moved under a person's hands, and nothing is markup.
const byId = (id) => document.getElementById(id);
const channel = new BroadcastChannel("cortex");
const open = new Map();
let heard = Date.now();
let known = Date.now();
let asked = () => {};

function show(state, text) {
  const live = byId("live");
  live.textContent = text;
  live.className = "live " + state;
}

function stale() {
  show("off", "not live");
  byId("stale").hidden = false;
  // A decision about a page that may be old could be about something else.
  for (const button of document.querySelectorAll("button[data-dear]")) button.disabled = true;
}

function busy(place) {
  const focused = document.activeElement;
  return place.contains(focused) || place.querySelector("details[open]");
}

function changed() { byId("changed").hidden = false; }

// Whether what has changed is on this page.
function shows(what) {
  const here = byId("main").dataset.shows.split(" ");
  return what.some((one) => here.includes(one));
}

function row(template, data) {
  const made = byId(template).content.firstElementChild.cloneNode(true);
  const put = { ...data, time: new Date(data.at * 1000).toTimeString().slice(0, 8) };
  if (data.ms !== undefined) put.ms = data.ms < 1e4 ? data.ms.toFixed(data.ms < 100 ? 1 : 0) + " ms" : (data.ms / 1e3).toFixed(1) + " s";
  if (data.cached) put.ms = "from the cache";
  for (const place of made.querySelectorAll("[data-put]")) {
    place.textContent = put[place.dataset.put] ?? "";
    if (place.tagName === "A") place.href = template === "run-row" ? runOf(data) : "/audit/" + Number(data.seq);
    if (place.dataset.put === "answer" && /^[a-z ]+$/.test(data.answer ?? "")) place.classList.add(data.answer);
  }
  return made;
}

function runOf(data) {
  const turn = String(data.turn ?? "").slice(0, 120).replace(/[^A-Za-z0-9._-]/g, ".");
  return "/runs/" + turn + "-" + Number(data.call) + "?record=" + Number(data.seq);
}

function add(list, template, data, most) {
  if (!list) return;
  if (busy(list)) return changed();
  list.prepend(row(template, data));
  while (list.children.length > most) list.lastElementChild.remove();
}

function record(kind, data) {
  add(byId("audit"), "audit-row", data, 100);
  const running = byId("running");
  const key = data.turn + "-" + data.call;
  if (running && kind === "intent") {
    const made = row("running-row", data);
    made.dataset.run = key;
    running.append(made);
  }
  if (running && (kind === "execution" || kind === "refusal")) {
    for (const one of [...running.children]) if (one.dataset.run === key) one.remove();
    add(byId("runs"), "run-row", data, 12);
  }
  if (running) byId("idle").hidden = running.children.length > 0;
}

function take({ kind, data }) {
  heard = Date.now();
  if (kind === "lost" || kind === "stale") return stale();
  show("on", "live");
  if (kind === "energy") energy(data.level, data.rate);
  else if (kind === "changed") shows(data.what) && changed();
  else if (data.seq) record(kind, data);
}

function energy(level, rate) {
  const meter = byId("level");
  if (!meter) return;
  meter.value = level;
  meter.dataset.rate = rate;
  known = Date.now();
  meter.dataset.level = level;
  tick();
}

function tick() {
  const meter = byId("level");
  if (meter) {
    const from = Number(meter.dataset.level ?? meter.value);
    meter.dataset.level = from;
    const level = Math.min(1, from + Number(meter.dataset.rate) * (Date.now() - known) / 6e4);
    meter.value = level;
    for (const one of [byId("level-text"), ...document.querySelectorAll("[data-level]:not(meter)")]) one.textContent = (Math.floor(level * 100 + 1e-9) / 100).toFixed(2);
  }
  for (const one of document.querySelectorAll("[data-until]")) {
    const left = Math.max(0, Math.round(Number(one.dataset.until) - Date.now() / 1e3));
    one.textContent = left > 90 ? Math.round(left / 60) + " min" : left + " s";
  }
  if (Date.now() - heard > 12e3) stale();
}

function listen() {
  const source = new EventSource("/events");
  const tell = (kind, data) => { take({ kind, data }); channel.postMessage({ kind, data }); };
  for (const kind of ["beat", "energy", "changed", "stale", "intent", "execution", "refusal", "tool_call", "owner_decision", "neuron", "emission", "files", "workflow", "recovered", "details"])
    source.addEventListener(kind, (event) => tell(kind, JSON.parse(event.data)));
  source.onopen = () => tell("beat", {});
  // A tab that was opened now would not know for seconds whether it is live.
  asked = () => source.readyState === EventSource.OPEN && tell("beat", {});
  source.addEventListener("closing", () => tell("lost", {}));
  source.onerror = () => tell("lost", {});
  return new Promise(() => {});
}

channel.onmessage = (event) => event.data.kind === "hello" ? asked() : take(event.data);
channel.postMessage({ kind: "hello" });
navigator.locks ? navigator.locks.request("cortex", listen) : listen();
setInterval(tick, 1000);
