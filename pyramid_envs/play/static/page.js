// The page of a game. It knows no rules: the server sends the picture, the legal actions, and for each of these what is clicked on
// in the picture, one thing after the other, to choose it.

const POLL = 1500; // ms between looks at a game that waits for people elsewhere
const BARS = 8; // actions told of an agent's thoughts

const $ = (id) => document.getElementById(id);
const dark = matchMedia("(prefers-color-scheme: dark)");
// ms before an agent's action, so that an eye can follow; ?pause=0 in the address does without
const agentPause = Number(new URLSearchParams(location.search).get("pause") ?? 450);
const token = location.pathname.startsWith("/play/") ? location.pathname.slice("/play/".length) : null;

let now = null; // the state that is shown
let viewer = null; // whose view it is; null: everything
let ply = null; // the position looked at; null: the present one
let path = []; // what has been clicked on
let timer = 0;
let running = true; // whether agents among themselves go on
let asked = 0; // counts requests for states: only the answer to the last one is shown
let busy = false;
let repaint = false; // whether the picture must be drawn anew though nothing has happened: the theme has changed

// ---------------------------------------------------------------------------------------------------------------- server

async function api(what, body) {
  const options = body === undefined ? {} :
    { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) };
  let response;
  try {
    response = await fetch(`/api/${what}`, options);
  } catch {
    throw new Error("The server does not answer. Is it still running?");
  }
  const answer = await response.json();
  if (!response.ok) throw Object.assign(new Error(answer.error), { status: response.status });
  return answer;
}

function notice(message) {
  $("notice").textContent = message;
  $("notice").hidden = !message;
}

async function attempt(work) {
  if (busy) return;
  busy = true;
  document.body.setAttribute("aria-busy", "true");
  try {
    notice("");
    await work();
  } catch (error) {
    notice(error.message);
    if (error.status === 409) await sync().catch(() => {});
  } finally {
    busy = false;
    document.body.removeAttribute("aria-busy");
  }
}

const change = (what, more = {}) => api(`${token}/${what}`, { change: now.change, ...more });

// ------------------------------------------------------------------------------------------------------------ what to show

function show(id) {
  for (const part of ["start", "links", "hand-over", "game"]) $(part).hidden = part !== id;
}

const human = (player) => player.player === "human";
const people = (state) => state.players.filter(human);

// Look at the game again; whose view is shown follows from whose turn it is.
async function sync() {
  clearTimeout(timer);
  const state = await api(`${token}/status`);
  if (state.revealed) viewer = null;
  else if (state.seats.length === 1) viewer = state.seats[0];
  else {
    const next = state.seats.includes(state.waiting_for) ? state.waiting_for : viewer;
    if (!state.game.hidden) viewer = next ?? state.seats[0];
    else if (viewer === null) return handOver(next ?? state.seats[0]);
  }
  await load();
}

function handOver(seat) {
  clearTimeout(timer);
  asked += 1;
  now = null;
  for (const part of ["board", "legal", "moves", "advice", "text"]) $(part).replaceChildren(); // nothing of another's view stays
  $("hand-over-title").textContent = `player_${seat}, it is your turn`;
  $("hand-over-done").textContent = `I am player_${seat}`;
  $("hand-over-done").onclick = () => attempt(async () => {
    viewer = seat;
    ply = null;
    await load();
  });
  show("hand-over");
  $("hand-over-done").focus();
}

async function load() {
  clearTimeout(timer);
  const mine = ++asked;
  const query = new URLSearchParams({ theme: dark.matches ? "dark" : "light" });
  if (viewer !== null) query.set("seat", viewer);
  if (ply !== null) query.set("ply", ply);
  const state = await api(`${token}/state?${query}`);
  if (mine !== asked) return;
  const moved = now === null || now.change !== state.change || now.shown !== state.shown;
  now = state;
  if (ply !== null && ply >= state.ply) ply = null;
  if (moved) {
    path = [];
    $("advice").replaceChildren();
    $("filter").value = "";
  }
  render(moved || repaint);
  repaint = false;
  schedule();
}

// What happens next without anybody's doing: an agent plays, or people elsewhere do.
function schedule() {
  clearTimeout(timer);
  if (now.over) return;
  if (now.playing) {
    if (people(now).length === 0 && !running) return;
    if (people(now).length > 0 && now.seats.length === 0) return;
    timer = setTimeout(advance, agentPause);
  } else if (people(now).some((player) => !player.here)) {
    timer = setTimeout(poll, POLL);
  }
}

async function advance() {
  try {
    await change("advance");
  } catch (error) {
    if (error.status !== 409) return notice(error.message);
  }
  await sync().catch((error) => notice(error.message));
}

async function poll() {
  try {
    const state = await api(`${token}/status`);
    if (now && state.change !== now.change) await sync();
    else if (now) schedule();
  } catch (error) {
    notice(error.message);
    timer = setTimeout(poll, 4 * POLL);
  }
}

// --------------------------------------------------------------------------------------------------------------- drawing

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) made[key] = value;
    else if (key === "class") made.className = value;
    else if (value !== null && value !== undefined && value !== false) made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child !== null));
  return made;
}

const live = () => now.shown === now.ply;
const myTurn = () => live() && now.legal.length > 0;
const starts = (keys, with_) => with_.every((key, at) => keys[at] === key);
const possible = () => now.legal.filter((move) => starts(move.keys, path));

function render(moved) {
  show("game");
  $("new-game").hidden = false;
  const options = Object.entries(now.game.options).filter(([name, value]) => name !== "num_players" && value !== null);
  $("heading").textContent = `${now.game.title}, ${now.players.length} players`;
  $("heading").title = options.map(([name, value]) => `${name} = ${value}`).join(", ");
  document.title = `${now.game.title} – pyramid games`;
  renderStatus();
  if (moved) {
    $("board").innerHTML = now.svg;
    $("text").textContent = now.text;
  }
  document.body.dataset.change = now.change;
  $("board").classList.toggle("past", !live());
  mark();
  renderPlayers();
  renderLegal();
  renderMoves();
  $("slider").max = now.ply;
  $("slider").value = now.shown;
  $("slider").setAttribute("aria-valuetext", `position ${now.shown} of ${now.ply}`);
  $("at").textContent = `${now.shown} / ${now.ply}`;
  $("first").disabled = $("back").disabled = now.shown === 0;
  $("last").disabled = $("forward").disabled = live();
  const watching = people(now).length === 0 && now.playing;
  $("run").hidden = !watching;
  $("run").textContent = running ? "Pause" : "Go on";
  $("undo").disabled = now.undo.length === 0;
  $("undo").hidden = people(now).length === 0 || now.revealed;
  $("hint-tools").hidden = !myTurn();
  $("advice-card").hidden = !myTurn() && !$("advice").childElementCount;
  const chosen = $("advisor").value || localStorage.getItem("advisor");
  $("advisor").replaceChildren(...now.advisors.map((name) => element("option", { value: name, selected: name === chosen }, name)));
}

function renderStatus() {
  const status = $("status");
  const name = (seat) => `player_${seat}`;
  status.className = "";
  let text;
  if (!live()) text = now.shown ? `After: ${now.moves[now.shown - 1].name}` : "At the start";
  else if (now.over) {
    text = now.result;
    if (viewer !== null && people(now).length === 1) text += now.payoffs[viewer] > 0 ? " You have won!" : now.payoffs[viewer] < 0 ? " You have lost." : "";
  } else if (now.waiting_for !== null && now.waiting_for === viewer) {
    text = now.seats.length > 1 ? `${name(viewer)}, your move` : "Your move";
    status.classList.add("yours");
  } else if (now.waiting_for !== null) {
    text = `Waiting for ${name(now.waiting_for)}`;
  } else text = `${now.players[now.to_move].player} (${name(now.to_move)}) is thinking …`;
  if (status.textContent !== text) status.textContent = text;
  if (live() && now.game.hidden && now.seats.includes(now.waiting_for) && now.waiting_for !== viewer && !now.over) {
    const next = now.waiting_for;
    status.append(" ", element("button", { id: "pass-on", class: "primary", onclick: () => handOver(next) }, `Hand over to ${name(next)}`));
  }
}

function renderPlayers() {
  $("players").replaceChildren(...now.players.map((player, seat) => element(
    "li", { class: now.to_move === seat ? "moves" : "" },
    element("strong", {}, player.name),
    element("span", { class: "who" }, human(player) ? (seat === viewer ? "you" : player.here ? "human, here" : "human") : player.player),
    now.payoffs && element("span", { class: "pay" }, now.payoffs[seat] > 0 ? `+${round(now.payoffs[seat])}` : round(now.payoffs[seat])),
  )));
  $("end-tools").hidden = !now.over;
  $("reveal").hidden = now.revealed || !now.seats.length;
  $("reveal").textContent = now.game.hidden ? "Show everything" : "Look at the game";
  $("record").hidden = !now.revealed;
  $("record").href = `/api/${token}/record`;
}

const round = (number) => String(Math.round(number * 100) / 100).replace("-", "−");

function wanted() {
  const typed = $("filter").value.trim().toLowerCase();
  if (!typed) return possible();
  if (/^\d+$/.test(typed) && now.legal[typed - 1]) return [now.legal[typed - 1]];
  return possible().filter((move) => typed.split(/\s+/).every((part) => move.name.toLowerCase().includes(part)));
}

function renderLegal() {
  $("choices").hidden = !myTurn();
  $("path").hidden = path.length === 0;
  $("path").replaceChildren(...(path.length ? [
    `${possible().length} possible `,
    element("button", { type: "button", onclick: () => startAgain(true) }, "Start again (Esc)"),
  ] : []));
  const hinted = $("advice").dataset.action;
  $("legal").replaceChildren(...(myTurn() ? wanted() : []).map((move) => element(
    "li", { class: String(move.action) === hinted && $("advice").childElementCount ? "hinted" : "" },
    element("button", { type: "button", "data-action": move.action, onclick: (event) => play(move, event.detail === 0) },
      element("span", { class: "number" }, now.legal.indexOf(move) + 1), move.name),
  )));
}

function renderMoves() {
  const list = $("moves");
  const entries = now.moves.map((move, at) => element(
    "li", {},
    element("button", { type: "button", "aria-current": at + 1 === now.shown ? "step" : null, onclick: () => look(at + 1) },
      element("span", { class: "number" }, at + 1), element("span", { class: "mover" }, `player_${move.seat}`), move.name),
  ));
  list.replaceChildren(...entries);
  const current = entries[now.shown - 1];
  list.scrollTop = current ? current.offsetTop - list.clientHeight / 2 : 0;
}

// --------------------------------------------------------------------------------------------------- choosing on the board

// Show what may be clicked on next, by a halo around it: a copy of its largest shape if that is nearly all of it, else a frame.
function mark() {
  const board = $("board");
  for (const halo of board.querySelectorAll(".halo")) halo.remove();
  const next = new Set(myTurn() ? possible().filter((move) => move.keys.length > path.length).map((move) => move.keys[path.length]) : []);
  const hint = $("advice").childElementCount && $("advice").dataset.keys ? JSON.parse($("advice").dataset.keys) : [];
  for (const part of board.querySelectorAll("[data-key]")) {
    const key = part.dataset.key;
    const can = next.has(key);
    const picked = path.includes(key);
    const hinted = can && hint[path.length] === key && starts(hint, path);
    part.classList.toggle("can", can);
    part.classList.toggle("picked", picked);
    part.classList.toggle("hinted", hinted);
    if (can) {
      part.setAttribute("tabindex", "0");
      part.setAttribute("role", "button");
      part.setAttribute("aria-label", key);
    } else for (const name of ["tabindex", "role", "aria-label"]) part.removeAttribute(name);
    if (can || picked) addHalo(part);
  }
}

function addHalo(part) {
  if (!(part instanceof SVGGElement)) return;
  const box = part.getBBox();
  let best = null;
  let area = 0.75 * box.width * box.height;
  for (const shape of part.querySelectorAll("polygon, rect, circle, path")) {
    const own = shape.getBBox();
    if (own.width * own.height > area && !shape.closest("[transform]")) [best, area] = [shape, own.width * own.height];
  }
  let halo;
  let kind = "halo";
  if (best && best.tagName !== "path") {
    halo = best.cloneNode(false);
    for (const name of ["fill", "stroke", "stroke-width", "stroke-dasharray"]) halo.removeAttribute(name);
  } else {
    halo = document.createElementNS("http://www.w3.org/2000/svg", "rect");
    const room = 3;
    const place = { x: box.x - room, y: box.y - room, width: box.width + 2 * room, height: box.height + 2 * room, rx: 5 };
    for (const [name, value] of Object.entries(place)) halo.setAttribute(name, value);
    kind = "halo frame"; // it may reach over neighbours, so it is seen but not clicked
  }
  halo.setAttribute("class", kind);
  part.append(halo);
}

function startAgain(focus) {
  path = [];
  $("filter").value = "";
  mark();
  renderLegal();
  if (focus) $("board").focus({ preventScroll: true });
}

function choose(key, byKeyboard) {
  path.push(key);
  const complete = possible().find((move) => move.keys.length === path.length);
  if (complete) return play(complete, byKeyboard, true);
  mark();
  renderLegal();
  if (byKeyboard) $("board").querySelector(".can")?.focus();
}

function clicked(target, byKeyboard) {
  if (!now || !myTurn()) return;
  const offered = (from) => possible().some((move) => move.keys[path.length] === from);
  const keys = [];
  for (let part = target.closest?.("[data-key]"); part; part = part.parentElement?.closest("[data-key]")) keys.push(part.dataset.key);
  const found = keys.find(offered);
  if (found !== undefined) return choose(found, byKeyboard);
  if (!path.length) return;
  path = []; // elsewhere: start again, with what was clicked on if that begins a choice
  const again = keys.find(offered);
  if (again !== undefined) choose(again, byKeyboard);
  else startAgain(false);
}

function play(move, byKeyboard, onBoard = false) {
  return attempt(async () => {
    ply = null;
    await change("act", { seat: viewer, action: move.action });
    await sync();
    if (!byKeyboard || !now || $("game").hidden) return;
    const next = onBoard ? $("board").querySelector(".can") ?? $("board") : $("legal").querySelector("button") ?? $("moves");
    next.focus({ preventScroll: true });
  });
}

// -------------------------------------------------------------------------------------------------------- looking and asking

function look(position) {
  if (!now) return;
  ply = position >= now.ply ? null : Math.max(0, position);
  return load().then(() => now?.revealed && !live() ? thoughts() : null).catch((error) => notice(error.message));
}

let thinking = 0;
function thoughts() {
  clearTimeout(thinking);
  const at = now.shown;
  thinking = setTimeout(async () => {
    try {
      const found = await api(`${token}/thoughts?ply=${at}`);
      if (now?.shown !== at || !found.agent) return;
      tell(found, `${found.agent} played`);
      $("advice-card").hidden = false;
    } catch (error) {
      notice(error.message);
    }
  }, 250);
}

function hint() {
  if (!now || !myTurn()) return;
  return attempt(async () => {
    $("advice").textContent = "Thinking …";
    const agent = $("advisor").value;
    localStorage.setItem("advisor", agent);
    let found;
    try {
      found = await change("hint", { seat: viewer, agent });
    } catch (error) {
      $("advice").replaceChildren();
      throw error;
    }
    tell(found, `${agent} would play`);
    path = [];
    mark();
    renderLegal();
    $("legal").querySelector(".hinted")?.scrollIntoView({ block: "nearest" });
  });
}

function bar(name, share, figure, kind = "") {
  return element("div", { class: `bar ${kind}` },
    element("span", { class: "name", title: name }, name),
    element("span", { class: "track" }, element("span", { class: "fill", style: `width:${Math.round(1000 * share) / 10}%` })),
    element("span", { class: "figure" }, figure));
}

function tell(found, words) {
  const payoff = (value) => (value > 0 ? "+" : "") + round(value);
  const parts = [element("p", {}, `${words} `, element("span", { class: "best" }, found.name))];
  if (found.value !== null) parts.push(bar("expects a payoff of", (found.value + 1) / 2, payoff(found.value), "value"));
  for (const move of found.actions.slice(0, BARS)) {
    const share = move.share ?? (move.worth + 1) / 2;
    parts.push(bar(move.name, share, move.share === undefined ? payoff(move.worth) : `${Math.round(100 * share)} %`));
  }
  if (found.actions.length > BARS) parts.push(element("p", { class: "note" }, `and ${found.actions.length - BARS} more`));
  $("advice").replaceChildren(...parts);
  $("advice").dataset.action = found.action;
  $("advice").dataset.keys = JSON.stringify(found.keys ?? []);
}

function undo() {
  if (!now || !now.undo.length) return;
  const seat = now.undo.includes(viewer) ? viewer : now.undo[0];
  return attempt(async () => {
    ply = null;
    await change("undo", { seat });
    await sync();
  });
}

// -------------------------------------------------------------------------------------------------------------- new games

let games = [];

async function begin() {
  games = (await api("games")).games;
  const chosen = new URLSearchParams(location.search).get("game");
  $("choose-game").replaceChildren(...games.map((game, at) => element("label", {},
    element("input", { type: "radio", name: "game", value: game.name, checked: chosen ? game.name === chosen : at === 0, onchange: fill }),
    game.title)));
  show("start");
  fill();
}

const chosenGame = () => games.find((game) => game.name === $("form").elements.game.value) ?? games[0];

function fill() {
  const game = chosenGame();
  const counts = game.options.find((option) => option.name === "num_players").choices;
  const rows = [];
  if (counts.length > 1) {
    rows.push(element("div", {}, element("label", { for: "count" }, "Number of seats"),
      element("select", { id: "count", onchange: fillSeats }, ...counts.map((count) => element("option", {}, count)))));
  }
  rows.push(element("div", { id: "seats", style: "display:contents" }));
  $("choose-seats").replaceChildren(...rows);
  $("choose-options").replaceChildren(...game.options.filter((option) => option.name !== "num_players").map(field));
  fillSeats();
}

function fillSeats() {
  const game = chosenGame();
  const count = Number($("count")?.value ?? game.options.find((option) => option.name === "num_players").choices[0]);
  const before = [...document.querySelectorAll("#seats select")].map((select) => select.value);
  $("seats").replaceChildren(...Array.from({ length: count }, (_, seat) => {
    const kept = before[seat] ?? (seat === 0 ? "human:here" : "greedy");
    const choice = (value, words) => element("option", { value, selected: value === kept }, words);
    return element("div", {}, element("label", { for: `seat-${seat}` }, `player_${seat}`),
      element("select", { id: `seat-${seat}`, onchange: tellSeats }, choice("human:here", "Human, on this device"),
        choice("human:link", "Human, with a link of their own"), ...game.agents.map((agent) => choice(agent, agent))));
  }));
  tellSeats();
}

function tellSeats() {
  const seats = [...document.querySelectorAll("#seats select")].map((select) => select.value);
  const here = seats.filter((seat) => seat === "human:here").length;
  $("seats-note").textContent = here > 1 && chosenGame().hidden
    ? "Several people on this device hand it to each other; between two views the screen shows nothing." : "";
}

function field(option) {
  const id = `option-${option.name}`;
  let input;
  if (option.kind === "bool") input = element("input", { id, type: "checkbox", checked: option.default });
  else if (option.kind === "choice") {
    input = element("select", { id }, ...option.choices.map((value) => element("option", { selected: value === option.default }, value)));
  } else {
    input = element("input", { id, type: "number", step: option.kind === "whole" ? 1 : "any", min: option.low, max: option.high,
      value: option.default, placeholder: option.none ? "no limit" : "as the game's page says" });
  }
  input.dataset.option = option.name;
  return element("div", {}, element("label", { for: id }, option.name), input, element("small", {}, option.doc));
}

function options() {
  const found = {};
  for (const option of chosenGame().options) {
    const input = $(`option-${option.name}`);
    if (!input) continue;
    if (option.kind === "bool") found[option.name] = input.checked;
    else if (option.kind === "choice") found[option.name] = option.choices[input.selectedIndex];
    else if (input.value !== "") found[option.name] = Number(input.value);
    else if (input.validity.badInput) throw new Error(`The option ${option.name} must be a number.`);
    else if (option.none) found[option.name] = null;
  }
  return found;
}

async function start(request) {
  const made = await api("new", request);
  if (!made.links.length) {
    location.assign(`/play/${made.token}`);
    return;
  }
  $("link-list").replaceChildren(...made.links.map((link) => {
    const address = `${location.origin}/play/${link.token}`;
    return element("li", {}, `player_${link.seat}: `, element("a", { href: address, target: "_blank", rel: "noopener" }, address));
  }));
  $("links-done").onclick = () => location.assign(`/play/${made.token}`);
  show("links");
}

// ------------------------------------------------------------------------------------------------------------------ wiring

$("form").onsubmit = (event) => {
  event.preventDefault();
  const seats = [...document.querySelectorAll("#seats select")].map((select) => select.value.startsWith("human:")
    ? { player: "human", here: select.value === "human:here" } : { player: select.value });
  attempt(() => start({ game: chosenGame().name, options: options(), seats }));
};
$("again").onclick = () => attempt(() => {
  const { num_players: _, ...options } = now.game.options;
  const seats = now.players.map((player) => human(player) ? { player: "human", here: player.here } : { player: player.player });
  return start({ game: now.game.name, options, seats });
});
$("reveal").onclick = () => attempt(async () => {
  await change("reveal");
  await sync();
});
$("undo").onclick = undo;
$("hint").onclick = hint;
$("slider").oninput = () => look(Number($("slider").value));
$("first").onclick = () => look(0);
$("back").onclick = () => look(now.shown - 1);
$("forward").onclick = () => look(now.shown + 1);
$("last").onclick = () => look(now.ply);
$("run").onclick = () => {
  running = !running;
  $("run").textContent = running ? "Pause" : "Go on";
  if (ply !== null) look(now.ply);
  else schedule();
};
$("board").onclick = (event) => clicked(event.target, false);
$("board").onkeydown = (event) => {
  if (event.key !== "Enter" && event.key !== " ") return;
  event.preventDefault();
  clicked(event.target, true);
};
$("filter").oninput = renderLegal;
$("filter").onkeydown = (event) => {
  if (event.key !== "Enter") return;
  event.preventDefault();
  const found = wanted();
  if (!$("filter").value.trim()) return;
  if (found.length === 1) play(found[0], true);
  else notice(found.length ? `${found.length} moves fit “${$("filter").value}”: type more.` : `No move fits “${$("filter").value}”.`);
};
document.addEventListener("keydown", (event) => {
  if (!now || $("game").hidden || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Escape") return startAgain(true);
  if (event.target.closest("input, select, textarea")) return;
  const keys = {
    ArrowLeft: () => look(now.shown - 1), ArrowRight: () => look(now.shown + 1), Home: () => look(0), End: () => look(now.ply),
    h: hint, u: undo,
  };
  if (keys[event.key]) {
    event.preventDefault();
    keys[event.key]();
  } else if (/^\d$/.test(event.key) && myTurn()) $("filter").focus();
});
dark.addEventListener("change", () => {
  if (now) {
    repaint = true;
    load().catch((error) => notice(error.message));
  }
});

(token === null ? begin() : sync()).catch((error) => {
  notice(error.message);
  $("new-game").hidden = false;
});
